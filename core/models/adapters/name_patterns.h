#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/text/python_regex.h"

namespace lathe::models {

// Python regular expressions that are matched against a module's whole name. One that cannot be compiled is logged as
// an error and matches nothing.
class NamePatterns {
 public:
  explicit NamePatterns(const std::vector<std::string>& patterns);
  template <class T>
  explicit NamePatterns(const std::vector<std::pair<std::string, T>>& patterns) {
    for (const auto& [pattern, value] : patterns) add(pattern);
  }

  std::optional<std::size_t> first_match(std::string_view name) const;  // its index in the list given
  bool any_matches(std::string_view name) const { return first_match(name).has_value(); }

 private:
  void add(const std::string& pattern);
  std::vector<std::optional<text::PythonRegex>> patterns_;
};

}  // namespace lathe::models
