#include "core/config/option_names.h"

#include <algorithm>
#include <utility>

namespace lathe::config {

namespace {

struct Alias {
  std::string_view written, name;
};
constexpr Alias kAliases[] = {{"train_dir", "output_dir"}};  // dingo's name for it

std::string with_underscores(std::string_view written) {
  std::string name(written);
  std::ranges::replace(name, '-', '_');
  return name;
}

std::vector<const Option*> beginning_with(const std::string& start, bool ours) {
  std::vector<const Option*> found;
  for (const Option& row : options()) {
    if ((row.origin == Origin::ours) == ours && row.name.starts_with(start)) found.push_back(&row);
  }
  return found;
}

}  // namespace

const Option* option_by_written_name(std::string_view written) {
  const std::string name = with_underscores(written);
  if (const Option* exact = find_option(name)) return exact;
  for (const Alias& alias : kAliases) {
    if (alias.written == name) return find_option(alias.name);
  }
  return nullptr;
}

NameMatch match_option(std::string_view written) {
  if (const Option* exact = option_by_written_name(written)) return {exact, {}};
  const std::string start = with_underscores(written);
  if (start.empty()) return {};
  for (const bool ours : {false, true}) {
    const std::vector<const Option*> found = beginning_with(start, ours);
    if (found.size() == 1) return {found.front(), {}};
    if (found.empty()) continue;
    NameMatch several;
    for (const Option* row : found) several.candidates.emplace_back(row->name);
    return several;
  }
  return {};
}

}  // namespace lathe::config
