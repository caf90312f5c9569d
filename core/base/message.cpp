#include "core/base/message.h"

namespace lathe {

std::string argument_text(const FormatArgument& argument) {
  return vformat("{}", {argument});
}

std::string Message::english() const {
  std::vector<FormatArgument> filled;
  for (const std::string& argument : arguments) filled.emplace_back(argument);
  return vformat(pattern, filled);
}

}  // namespace lathe
