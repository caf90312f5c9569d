#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace lathe {

struct Process {
  std::vector<std::string> words;  // the program (a path, or a name looked up in PATH) and its arguments; no shell
  std::filesystem::path folder;    // where it runs; empty: here
  std::vector<std::pair<std::string, std::string>> environment;  // added to ours
  double timeout_seconds = 0.0;  // 0: none; past it the program and its children are killed
};

struct ProcessResult {
  int exit_code = 0;  // 128 + signal where one ended it
  bool timed_out = false;
  std::string output;  // stdout and stderr, in the order in which they came
};

// Runs a program to its end. Error(file) where it cannot be started.
ProcessResult run_process(const Process& process);

// The program's path in PATH (with the system's endings), or nothing.
std::optional<std::filesystem::path> find_program(const std::string& name);

}  // namespace lathe
