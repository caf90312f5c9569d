#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace lathe::architecture {

enum class Kind { plain, torch, qt, any };

bool sees_torch(Kind kind);
bool sees_qt(Kind kind);

struct Layer {
  std::vector<std::string> arrows;  // as written, as paths from the root
  std::set<std::string> reach;      // itself and everything that it may include
  Kind kind = Kind::plain;
};

// The rules of layers.txt. Folders are paths from the root: "core/base", "app/batch".
struct Layers {
  std::map<std::string, Layer> layers;
  std::vector<std::string> problems;  // unreadable lines, unknown names, circles, arrows from plain to torch

  // The listed folder that `folder` belongs to.
  std::optional<std::string> owner(std::string_view folder) const;
  // Whether `folder` lies below a listed folder that has other listed ones below it, and is itself not listed.
  bool needs_a_line(std::string_view folder) const;
};

Layers parse_layers(std::string_view text);

}  // namespace lathe::architecture
