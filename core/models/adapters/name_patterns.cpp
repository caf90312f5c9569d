#include "core/models/adapters/name_patterns.h"

#include "core/base/log.h"

namespace lathe::models {

NamePatterns::NamePatterns(const std::vector<std::string>& patterns) {
  for (const std::string& pattern : patterns) add(pattern);
}

void NamePatterns::add(const std::string& pattern) {
  text::PythonRegex::Compiled compiled = text::PythonRegex::compile(pattern);
  if (!compiled.regex) log::error("'{}' is not a regular expression and is ignored: {}", pattern, compiled.problem);
  patterns_.push_back(std::move(compiled.regex));
}

std::optional<std::size_t> NamePatterns::first_match(std::string_view name) const {
  for (std::size_t i = 0; i < patterns_.size(); ++i) {
    if (patterns_[i] && patterns_[i]->full_match(name)) return i;
  }
  return std::nullopt;
}

}  // namespace lathe::models
