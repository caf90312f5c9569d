#include "core/compile/toolchain/host_build.h"

#include <cstdlib>
#include <mutex>
#include <sstream>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/base/files.h"
#include "core/base/format.h"
#include "core/base/paths.h"
#include "core/base/subprocess.h"

namespace lathe::toolchain {

namespace fs = std::filesystem;

namespace {

#ifdef _WIN32
constexpr std::string_view kLibrarySuffix = ".dll";
#else
constexpr std::string_view kLibrarySuffix = ".so";
#endif

// -O2 does not vectorise on GCC; without the two -fno flags clamps and square roots stay scalar. Sums are reordered in
// the loops alone that a kernel marks for it (-fopenmp-simd: pragmas, no threads, no library).
const std::vector<std::string> kFlags = {
    "-std=c++17",          "-O3",       "-fPIC", "-shared", "-fno-math-errno", "-fno-trapping-math", "-fopenmp-simd",
    "-fvisibility=hidden", "-nostdlib", "-w"};

std::vector<std::string> candidates() {
  std::vector<std::string> names;
  for (const char* variable : {"LATHE_CXX", "CXX"}) {
    const char* value = std::getenv(variable);
    if (value != nullptr && *value != '\0') names.emplace_back(value);
  }
#ifdef _WIN32
  for (const char* name : {"cl", "clang-cl"}) names.emplace_back(name);
#else
  for (const char* name : {"c++", "clang++", "g++"}) names.emplace_back(name);
#endif
  return names;
}

// What -march=native means here: the options that the driver hands to the compiler proper. A cache shared by several
// machines then never gives one of them instructions that it lacks.
std::vector<std::string> native_features(const std::string& program) {
  const ProcessResult said =
      run_process({{program, "-march=native", "-E", "-v", "-x", "c++", "/dev/null"}, {}, {{"LC_ALL", "C"}}, 20});
  std::istringstream lines(said.output);
  for (std::string line; std::getline(lines, line);) {
    const bool is_compiler = line.find("cc1") != std::string::npos && line.find(" -m") != std::string::npos;
    if (!is_compiler) continue;
    std::vector<std::string> features;
    std::istringstream words(line);
    for (std::string word; words >> word;) {
      if (word == "--param") {
        words >> word;
      } else if (word.starts_with("-m")) {
        features.push_back(word);
      }
    }
    if (!features.empty()) return features;
  }
  return {"-march=native"};  // Clang names no features: then the identity must tell machines apart
}

std::string processor_name() {
  std::istringstream lines([] {
    try {
      return read_text("/proc/cpuinfo");
    } catch (const Error&) {
      return std::string();
    }
  }());
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("model name") || line.starts_with("flags")) return line;
  }
  return {};
}

std::optional<HostCompiler> look_for_compiler(std::string& why) {
  for (const std::string& name : candidates()) {
    const auto program = find_program(name);
    if (!program) {
      why += format("{}{} is not in PATH", why.empty() ? "" : "; ", name);
      continue;
    }
    const std::string path = to_utf8(*program);
    const ProcessResult version = run_process({{path, "--version"}, {}, {{"LC_ALL", "C"}}, 20});
    if (version.exit_code != 0) {
      why += format("{}{} does not run", why.empty() ? "" : "; ", path);
      continue;
    }
    HostCompiler compiler{*program, version.output, kFlags};
    const std::vector<std::string> features = native_features(path);
    if (features == std::vector<std::string>{"-march=native"}) compiler.identity += processor_name();
    compiler.flags.insert(compiler.flags.end(), features.begin(), features.end());
    return compiler;
  }
  return std::nullopt;
}

std::string first_lines(const std::string& text) {
  std::istringstream lines(text);
  std::string out;
  int count = 0;
  for (std::string line; count < 3 && std::getline(lines, line); ++count) out += (out.empty() ? "" : " | ") + line;
  return out;
}

}  // namespace

std::optional<HostCompiler> find_host_compiler(std::string* why) {
  static std::mutex mutex;
  static std::string reason;
  static bool looked = false;
  static std::optional<HostCompiler> found;
  const std::lock_guard lock(mutex);
  if (!looked) found = look_for_compiler(reason);
  looked = true;
  if (why != nullptr) *why = reason;
  return found;
}

BuiltKernels build_on_host(const std::string& source, const HostCompiler& compiler, KernelCache& cache,
                           double timeout_seconds) {
  const std::string key = CacheKey()
                              .add("kind", "host")
                              .add("source", source)
                              .add("flags", join(compiler.flags, " "))
                              .add("compiler", compiler.identity)
                              .hex();
  if (const auto file = cache.find(key, kLibrarySuffix)) {
    try {
      return {SharedObject(*file), true, 0.0};
    } catch (const Error&) {  // whole, yet not loadable here: build it again
    }
  }
  double seconds = 0.0;
  const fs::path file = cache.put(key, kLibrarySuffix, [&](const fs::path& target) {
    const Stopwatch watch;
    fs::path text = target;
    text += ".cpp";
    write_text(text, source);
    std::vector<std::string> words = {to_utf8(compiler.path)};
    words.insert(words.end(), compiler.flags.begin(), compiler.flags.end());
    for (const std::string& word : {to_utf8(text), std::string("-o"), to_utf8(target)}) words.push_back(word);
    const ProcessResult result = run_process({words, {}, {{"LC_ALL", "C"}}, timeout_seconds});
    std::error_code ignored;
    fs::remove(text, ignored);
    seconds = watch.seconds();
    if (result.timed_out) {
      throw Error(ErrorKind::resource,
                  format("the compiler '{}' did not finish in {}", compiler.path, human_seconds(timeout_seconds)));
    }
    if (result.exit_code != 0)
      throw Error(ErrorKind::format, format("a kernel does not build: {}", first_lines(result.output)));
  });
  return {SharedObject(file), false, seconds};
}

}  // namespace lathe::toolchain
