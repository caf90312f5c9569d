#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace lathe {

enum class ErrorKind {
  settings,    // what the user asked for cannot be done as asked
  file,        // a file or folder is missing, unreadable, unwritable
  format,      // a file was read and is not what it claims to be
  checkpoint,  // a model, adapter or state file does not fit
  dataset,     // images, captions, caches
  numerics,    // the numbers of a run are not finite
  resource,    // memory, disk, device
  stopped,     // stopped on request
  internal,    // a fault of ours
};

std::string_view name(ErrorKind kind);

// What core throws. what() is one line: the message, then what was being done, innermost first.
class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, std::string message);

  ErrorKind kind() const { return kind_; }
  const std::string& message() const { return message_; }
  const std::vector<std::string>& context() const { return context_; }

  // Adds "while loading the adapter x.safetensors" on the way up.
  void while_doing(std::string what);
  const char* what() const noexcept override { return text_.c_str(); }

 private:
  ErrorKind kind_;
  std::string message_;
  std::vector<std::string> context_;
  std::string text_;
};

}  // namespace lathe
