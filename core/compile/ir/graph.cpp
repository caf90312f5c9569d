#include "core/compile/ir/graph.h"

#include <algorithm>
#include <utility>

namespace lathe::ir {

std::string_view name(DType dtype) {
  switch (dtype) {
    case DType::f64:
      return "f64";
    case DType::f32:
      return "f32";
    case DType::f16:
      return "f16";
    case DType::bf16:
      return "bf16";
    case DType::i64:
      return "i64";
    case DType::i32:
      return "i32";
    case DType::i16:
      return "i16";
    case DType::i8:
      return "i8";
    case DType::u8:
      return "u8";
    case DType::boolean:
      return "bool";
  }
  return "f32";
}

std::int64_t byte_size(DType dtype) {
  switch (dtype) {
    case DType::f64:
    case DType::i64:
      return 8;
    case DType::f32:
    case DType::i32:
      return 4;
    case DType::f16:
    case DType::bf16:
    case DType::i16:
      return 2;
    case DType::i8:
    case DType::u8:
    case DType::boolean:
      return 1;
  }
  return 4;
}

bool Graph::keep_only(const std::vector<bool>& keep) {
  if (std::find(keep.begin(), keep.end(), false) == keep.end()) return false;
  std::vector<std::int32_t> moved(nodes.size(), -1);
  std::vector<Node> kept;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (!keep[i]) continue;
    moved[i] = static_cast<std::int32_t>(kept.size());
    for (const ValueId id : nodes[i].results) {
      if (id >= 0) values[static_cast<std::size_t>(id)].index = moved[i];
    }
    kept.push_back(std::move(nodes[i]));
  }
  nodes = std::move(kept);
  std::erase_if(breaks, [&](const Break& at) { return moved[static_cast<std::size_t>(at.node)] < 0; });
  for (Break& at : breaks) at.node = moved[static_cast<std::size_t>(at.node)];
  return true;
}

}  // namespace lathe::ir
