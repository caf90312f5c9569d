#include "core/compile/toolchain/nvrtc_build.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/base/files.h"
#include "core/base/format.h"
#include "core/base/paths.h"

namespace lathe::toolchain {

namespace fs = std::filesystem;

namespace {

using Program = void*;

#ifdef _WIN32
constexpr std::string_view kPrefix = "nvrtc64_", kBuiltins = "nvrtc-builtins64_";
bool is_library(const std::string& name, std::string_view start) {
  return name.starts_with(start) && name.ends_with(".dll");
}
#else
constexpr std::string_view kPrefix = "libnvrtc.so", kBuiltins = "libnvrtc-builtins.so";
bool is_library(const std::string& name, std::string_view start) {
  return name.starts_with(start);
}
#endif

// The newest file of that kind in the folder.
fs::path find_library(const fs::path& folder, std::string_view start) {
  fs::path best;
  std::error_code failed;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, failed)) {
    if (is_library(to_utf8(entry.path().filename()), start) && entry.path() > best) best = entry.path();
  }
  return best;
}

std::vector<fs::path> places(const std::vector<fs::path>& folders) {
  std::vector<fs::path> all;
  if (const char* chosen = std::getenv("LATHE_NVRTC_DIR"); chosen != nullptr && *chosen != '\0')
    all.push_back(from_utf8(chosen));
  all.insert(all.end(), folders.begin(), folders.end());
#ifndef _WIN32
  for (const char* folder : {"/usr/local/cuda/lib64", "/usr/lib/x86_64-linux-gnu"}) all.emplace_back(folder);
#endif
  return all;
}

std::string first_lines(const std::string& text) {
  std::string out;
  int count = 0;
  for (std::size_t start = 0; start < text.size() && count < 3; ++count) {
    const std::size_t end = std::min(text.find('\n', start), text.size());
    out += (out.empty() ? "" : " | ") + text.substr(start, end - start);
    start = end + 1;
  }
  return out;
}

}  // namespace

struct Nvrtc::Functions {
  int (*version)(int*, int*);
  int (*create)(Program*, const char*, const char*, int, const char* const*, const char* const*);
  int (*compile)(Program, int, const char* const*);
  int (*destroy)(Program*);
  int (*log_size)(Program, std::size_t*);
  int (*log)(Program, char*);
  int (*cubin_size)(Program, std::size_t*);
  int (*cubin)(Program, char*);
};

Nvrtc::Nvrtc(fs::path path, std::vector<SharedObject> libraries)
    : path_(std::move(path)), libraries_(std::move(libraries)), functions_(std::make_shared<Functions>()) {
  const SharedObject& library = libraries_.back();
  functions_->version = library.function<int(int*, int*)>("nvrtcVersion");
  functions_->create =
      library.function<int(Program*, const char*, const char*, int, const char* const*, const char* const*)>(
          "nvrtcCreateProgram");
  functions_->compile = library.function<int(Program, int, const char* const*)>("nvrtcCompileProgram");
  functions_->destroy = library.function<int(Program*)>("nvrtcDestroyProgram");
  functions_->log_size = library.function<int(Program, std::size_t*)>("nvrtcGetProgramLogSize");
  functions_->log = library.function<int(Program, char*)>("nvrtcGetProgramLog");
  functions_->cubin_size = library.function<int(Program, std::size_t*)>("nvrtcGetCUBINSize");
  functions_->cubin = library.function<int(Program, char*)>("nvrtcGetCUBIN");
  functions_->version(&major_, &minor_);
}

std::shared_ptr<Nvrtc> Nvrtc::open(const std::vector<fs::path>& folders, std::string* why) {
  std::string tried;
  for (const fs::path& folder : places(folders)) {
    const fs::path library = find_library(folder, kPrefix);
    if (library.empty()) {
      tried += format("{}no NVRTC in {}", tried.empty() ? "" : "; ", folder);
      continue;
    }
    try {
      std::vector<SharedObject> libraries;
      // Version 13 has no run path: it finds its builtins only if they are loaded already.
      if (const fs::path builtins = find_library(folder, kBuiltins); !builtins.empty())
        libraries.emplace_back(builtins);
      libraries.emplace_back(library);
      return std::shared_ptr<Nvrtc>(new Nvrtc(library, std::move(libraries)));
    } catch (const Error& error) {
      tried += (tried.empty() ? "" : "; ") + error.message();
    }
  }
  if (why != nullptr) *why = tried;
  return nullptr;
}

std::string Nvrtc::build(const std::string& source, int architecture) const {
  Program program = nullptr;
  if (functions_->create(&program, source.c_str(), "kernels.cu", 0, nullptr, nullptr) != 0) {
    throw Error(ErrorKind::resource, format("NVRTC {}.{} cannot begin a program", major_, minor_));
  }
  const std::string target = format("--gpu-architecture=sm_{}", architecture);
  const char* options[] = {target.c_str(), "--std=c++17", "--fmad=true"};
  const int failed = functions_->compile(program, 3, options);
  std::string text;
  std::size_t size = 0;
  if (failed != 0) {
    functions_->log_size(program, &size);
    text.resize(size);
    functions_->log(program, text.data());
  } else {
    functions_->cubin_size(program, &size);
    text.resize(size);
    functions_->cubin(program, text.data());
  }
  functions_->destroy(&program);
  if (failed != 0)
    throw Error(ErrorKind::format, format("a kernel does not build for sm_{}: {}", architecture, first_lines(text)));
  return text;
}

BuiltCubin build_cubin(const std::string& source, int architecture, const Nvrtc& nvrtc, KernelCache& cache) {
  const std::string key = CacheKey()
                              .add("kind", "nvrtc")
                              .add("source", source)
                              .add("architecture", std::to_string(architecture))
                              .add("nvrtc", format("{}.{}", nvrtc.major(), nvrtc.minor()))
                              .hex();
  if (const auto file = cache.find(key, ".cubin")) return {read_text(*file), true, 0.0};
  const Stopwatch watch;
  const std::string bytes = nvrtc.build(source, architecture);
  cache.put(key, ".cubin", [&](const fs::path& target) {
    std::ofstream out(target, std::ios::binary);
    out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    if (!out.flush()) throw Error(ErrorKind::file, format("cannot write '{}'", target));
  });
  return {bytes, false, watch.seconds()};
}

}  // namespace lathe::toolchain
