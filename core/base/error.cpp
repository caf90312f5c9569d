#include "core/base/error.h"

#include <utility>

namespace lathe {

std::string_view name(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::settings:
      return "settings";
    case ErrorKind::file:
      return "file";
    case ErrorKind::format:
      return "format";
    case ErrorKind::checkpoint:
      return "checkpoint";
    case ErrorKind::dataset:
      return "dataset";
    case ErrorKind::numerics:
      return "numerics";
    case ErrorKind::resource:
      return "resource";
    case ErrorKind::stopped:
      return "stopped";
    case ErrorKind::internal:
      return "internal";
  }
  return "internal";
}

Error::Error(ErrorKind kind, std::string message)
    : std::runtime_error(message), kind_(kind), message_(std::move(message)), text_(message_) {}

void Error::while_doing(std::string what) {
  context_.push_back(std::move(what));
  text_ = message_ + " (while ";
  for (std::size_t i = 0; i < context_.size(); ++i) {
    if (i > 0) text_ += ", while ";
    text_ += context_[i];
  }
  text_ += ")";
}

}  // namespace lathe
