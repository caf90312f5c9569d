#include "tests/architecture/layers.h"

#include <algorithm>
#include <sstream>

#include "core/base/format.h"

namespace lathe::architecture {

namespace {

bool is_below(std::string_view folder, std::string_view parent) {
  return folder.size() > parent.size() && folder.starts_with(parent) && folder[parent.size()] == '/';
}

std::string from_root(const std::string& name) {
  for (std::string_view top : {"app", "ui", "tests"}) {
    if (name == top || is_below(name, top)) return name;
  }
  return "core/" + name;
}

std::optional<Kind> kind_of(std::string_view name) {
  if (name == "plain") return Kind::plain;
  if (name == "torch") return Kind::torch;
  if (name == "qt") return Kind::qt;
  if (name == "any") return Kind::any;
  return std::nullopt;
}

void parse_line(const std::string& line, int number, Layers& result) {
  const std::size_t colon = line.find(':');
  const std::size_t bar = line.find('|');
  if (colon == std::string::npos || bar == std::string::npos || bar < colon) {
    result.problems.push_back(format("layers.txt:{}: expected 'folder: arrows | kind', found '{}'", number, line));
    return;
  }
  std::string folder, kind_name, arrow;
  std::istringstream(line.substr(0, colon)) >> folder;
  std::istringstream(line.substr(bar + 1)) >> kind_name;
  Layer layer;
  std::istringstream arrows(line.substr(colon + 1, bar - colon - 1));
  while (arrows >> arrow) layer.arrows.push_back(from_root(arrow));
  if (const auto kind = kind_of(kind_name)) {
    layer.kind = *kind;
  } else {
    result.problems.push_back(format("layers.txt:{}: unknown kind '{}' (plain, torch, qt, any)", number, kind_name));
  }
  if (!result.layers.emplace(from_root(folder), layer).second) {
    result.problems.push_back(format("layers.txt:{}: '{}' is listed twice", number, folder));
  }
}

// Adds what `from` reaches to `reach`; a folder met again on the way down is a circle.
void follow(Layers& layers, const std::string& from, std::vector<std::string>& way, std::set<std::string>& reach) {
  if (std::ranges::find(way, from) != way.end()) {
    layers.problems.push_back(format("layers.txt: the arrows go in a circle through '{}'", from));
    return;
  }
  if (!reach.insert(from).second) return;
  way.push_back(from);
  for (const std::string& arrow : layers.layers[from].arrows) follow(layers, arrow, way, reach);
  way.pop_back();
}

}  // namespace

bool sees_torch(Kind kind) {
  return kind == Kind::torch || kind == Kind::any;
}
bool sees_qt(Kind kind) {
  return kind == Kind::qt || kind == Kind::any;
}

std::optional<std::string> Layers::owner(std::string_view folder) const {
  std::string name(folder);
  while (!layers.contains(name)) {
    const std::size_t slash = name.rfind('/');
    if (slash == std::string::npos) return std::nullopt;
    name.resize(slash);
  }
  return name;
}

bool Layers::needs_a_line(std::string_view folder) const {
  const auto listed = owner(folder);
  if (!listed || *listed == folder) return false;
  return std::ranges::any_of(layers, [&](const auto& layer) { return is_below(layer.first, *listed); });
}

Layers parse_layers(std::string_view text) {
  Layers result;
  std::istringstream lines{std::string(text)};
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    if (line.find_first_not_of(" \t\r") == std::string::npos || line.front() == '#') continue;
    parse_line(line, number, result);
  }
  for (auto& [folder, layer] : result.layers) {
    std::erase_if(layer.arrows, [&](const std::string& arrow) {
      if (result.layers.contains(arrow)) return false;
      result.problems.push_back(format("layers.txt: '{}' names '{}', which has no line", folder, arrow));
      return true;
    });
  }
  for (auto& [folder, layer] : result.layers) {
    std::vector<std::string> way;
    follow(result, folder, way, layer.reach);
    for (const std::string& seen : layer.reach) {
      const Kind kind = result.layers[seen].kind;
      if ((sees_torch(kind) && !sees_torch(layer.kind)) || (sees_qt(kind) && !sees_qt(layer.kind))) {
        result.problems.push_back(format("layers.txt: '{}' may not reach '{}': its kind forbids it", folder, seen));
      }
    }
  }
  return result;
}

}  // namespace lathe::architecture
