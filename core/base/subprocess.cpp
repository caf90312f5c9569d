#include "core/base/subprocess.h"

#include <chrono>
#include <cstdlib>
#include <system_error>

#include "core/base/error.h"
#include "core/base/format.h"
#include "core/base/paths.h"

#ifdef _WIN32
#include <windows.h>
#else
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

extern char** environ;  // NOLINT
#endif

namespace lathe {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

namespace {

[[noreturn]] void cannot_start(const Process& process, const std::string& reason) {
  throw Error(ErrorKind::file, format("cannot start '{}': {}", process.words.empty() ? "" : process.words[0], reason));
}

// Milliseconds until the deadline for poll(): −1 without one, 0 when it has passed.
int milliseconds_left(const Process& process, Clock::time_point start) {
  if (process.timeout_seconds <= 0) return -1;
  const double left = process.timeout_seconds - std::chrono::duration<double>(Clock::now() - start).count();
  return left <= 0 ? 0 : static_cast<int>(left * 1000) + 1;
}

}  // namespace

#ifdef _WIN32

namespace {

// One argument as CommandLineToArgvW reads it back.
std::wstring quoted(const std::wstring& word) {
  if (!word.empty() && word.find_first_of(L" \t\n\v\"") == std::wstring::npos) return word;
  std::wstring out = L"\"";
  std::size_t backslashes = 0;
  for (const wchar_t c : word) {
    if (c == L'\\') {
      ++backslashes;
      continue;
    }
    out.append(c == L'"' ? 2 * backslashes + 1 : backslashes, L'\\');
    backslashes = 0;
    out += c;
  }
  out.append(2 * backslashes, L'\\');
  return out + L"\"";
}

}  // namespace

ProcessResult run_process(const Process& process) {
  const Clock::time_point start = Clock::now();
  SECURITY_ATTRIBUTES inherit{sizeof(inherit), nullptr, TRUE};
  HANDLE read_end = nullptr;
  HANDLE write_end = nullptr;
  if (!CreatePipe(&read_end, &write_end, &inherit, 0)) cannot_start(process, "no pipe");
  SetHandleInformation(read_end, HANDLE_FLAG_INHERIT, 0);

  std::wstring command;
  for (const std::string& word : process.words)
    command += (command.empty() ? L"" : L" ") + quoted(from_utf8(word).wstring());
  for (const auto& [key, value] : process.environment) {
    SetEnvironmentVariableW(from_utf8(key).c_str(), from_utf8(value).c_str());
  }
  STARTUPINFOW startup{};
  startup.cb = sizeof(startup);
  startup.dwFlags = STARTF_USESTDHANDLES;
  startup.hStdOutput = startup.hStdError = write_end;
  PROCESS_INFORMATION child{};
  const HANDLE job = CreateJobObjectW(nullptr, nullptr);
  const BOOL started =
      CreateProcessW(nullptr, command.data(), nullptr, nullptr, TRUE, CREATE_NO_WINDOW | CREATE_SUSPENDED, nullptr,
                     process.folder.empty() ? nullptr : process.folder.c_str(), &startup, &child);
  CloseHandle(write_end);
  if (!started) {
    const DWORD code = GetLastError();
    CloseHandle(read_end);
    CloseHandle(job);
    cannot_start(process, std::system_category().message(static_cast<int>(code)));
  }
  AssignProcessToJobObject(job, child.hProcess);
  ResumeThread(child.hThread);

  ProcessResult result;
  std::string buffer(65536, '\0');
  for (;;) {
    DWORD available = 0;
    if (!PeekNamedPipe(read_end, nullptr, 0, nullptr, &available, nullptr)) break;
    if (available > 0) {
      DWORD count = 0;
      if (!ReadFile(read_end, buffer.data(), static_cast<DWORD>(buffer.size()), &count, nullptr)) break;
      result.output.append(buffer, 0, count);
    } else if (milliseconds_left(process, start) == 0) {
      result.timed_out = true;
      TerminateJobObject(job, 1);
      break;
    } else {
      Sleep(2);
    }
  }
  WaitForSingleObject(child.hProcess, INFINITE);
  DWORD code = 1;
  GetExitCodeProcess(child.hProcess, &code);
  result.exit_code = static_cast<int>(code);
  for (const HANDLE handle : {child.hThread, child.hProcess, read_end, job}) CloseHandle(handle);
  return result;
}

#else

namespace {

// Runs in the child between fork and exec: only async-signal-safe calls.
[[noreturn]] void become(char* const* words, char* const* environment, const char* folder, int output, int failure) {
  ::setpgid(0, 0);  // so that its children can be killed with it
  const int nothing = ::open("/dev/null", O_RDONLY);
  ::dup2(nothing, STDIN_FILENO);
  ::dup2(output, STDOUT_FILENO);
  ::dup2(output, STDERR_FILENO);
  if (folder == nullptr || ::chdir(folder) == 0) ::execve(words[0], words, environment);
  const int code = errno;
  [[maybe_unused]] const auto written = ::write(failure, &code, sizeof(code));
  ::_exit(127);
}

std::vector<std::string> merged_environment(const Process& process) {
  std::vector<std::string> merged;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const std::string key = text.substr(0, text.find('='));
    bool replaced = false;
    for (const auto& [name, value] : process.environment) replaced = replaced || name == key;
    if (!replaced) merged.push_back(text);
  }
  for (const auto& [name, value] : process.environment) merged.push_back(name + "=" + value);
  return merged;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (std::string& text : texts) out.push_back(text.data());
  out.push_back(nullptr);
  return out;
}

// Reads until every writer has closed, or the deadline. Returns whether the deadline came first.
bool collect(int handle, const Process& process, Clock::time_point start, std::string& output) {
  std::string buffer(65536, '\0');
  for (;;) {
    pollfd ready{handle, POLLIN, 0};
    const int count = ::poll(&ready, 1, milliseconds_left(process, start));
    if (count < 0 && errno == EINTR) continue;
    if (count == 0) return true;
    const ssize_t size = ::read(handle, buffer.data(), buffer.size());
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return false;
    output.append(buffer, 0, static_cast<std::size_t>(size));
  }
}

}  // namespace

ProcessResult run_process(const Process& process) {
  const Clock::time_point start = Clock::now();
  if (process.words.empty()) cannot_start(process, "no program was named");
  std::vector<std::string> words = process.words;
  if (const auto found = find_program(words[0])) words[0] = to_utf8(*found);
  std::vector<std::string> environment = merged_environment(process);
  const std::vector<char*> word_pointers = pointers(words);
  const std::vector<char*> environment_pointers = pointers(environment);

  int output[2], failure[2];
  if (::pipe2(output, O_CLOEXEC) != 0) cannot_start(process, std::generic_category().message(errno));
  if (::pipe2(failure, O_CLOEXEC) != 0) {
    ::close(output[0]);
    ::close(output[1]);
    cannot_start(process, std::generic_category().message(errno));
  }
  const pid_t child = ::fork();
  if (child == 0) {
    become(word_pointers.data(), environment_pointers.data(), process.folder.empty() ? nullptr : process.folder.c_str(),
           output[1], failure[1]);
  }
  const int fork_error = errno;
  ::close(output[1]);
  ::close(failure[1]);
  int code = child < 0 ? fork_error : 0;
  const bool failed = child < 0 || ::read(failure[0], &code, sizeof(code)) == static_cast<ssize_t>(sizeof(code));
  ::close(failure[0]);
  if (failed) {
    ::close(output[0]);
    if (child > 0) ::waitpid(child, nullptr, 0);
    cannot_start(process, std::generic_category().message(code));
  }

  ProcessResult result;
  result.timed_out = collect(output[0], process, start, result.output);
  if (result.timed_out) ::kill(-child, SIGKILL);
  ::close(output[0]);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return result;
}

#endif

std::optional<fs::path> find_program(const std::string& name) {
  std::error_code ignored;
  const auto is_program = [&](const fs::path& path) {
#ifndef _WIN32
    if (::access(path.c_str(), X_OK) != 0) return false;
#endif
    return fs::is_regular_file(path, ignored);
  };
  const fs::path given = from_utf8(name);
  if (given.has_parent_path()) return is_program(given) ? std::optional(given) : std::nullopt;
  const char* variable = std::getenv("PATH");
  const std::string list = variable == nullptr ? "" : variable;
#ifdef _WIN32
  constexpr char separator = ';';
  const std::vector<std::string> endings = {"", ".exe", ".cmd", ".bat"};
#else
  constexpr char separator = ':';
  const std::vector<std::string> endings = {""};
#endif
  for (std::size_t start = 0; start <= list.size();) {
    const std::size_t end = std::min(list.find(separator, start), list.size());
    for (const std::string& ending : endings) {
      const fs::path candidate = from_utf8(list.substr(start, end - start)) / from_utf8(name + ending);
      if (is_program(candidate)) return candidate;
    }
    start = end + 1;
  }
  return std::nullopt;
}

}  // namespace lathe
