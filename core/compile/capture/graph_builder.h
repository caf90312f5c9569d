#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <ATen/core/Tensor.h>

#include "core/compile/ir/graph.h"

namespace lathe::capture {

// Why a block cannot be recorded. Thrown within the recorder, where it is caught and kept as the recording's reason.
struct Refused : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Dtype, sizes and strides of a tensor and where it lies in its storage, counted in elements.
struct Geometry {
  at::ScalarType dtype = at::kFloat;
  std::vector<std::int64_t> sizes, strides;
  std::int64_t offset = 0;

  Geometry() = default;
  explicit Geometry(const at::Tensor& tensor)
      : dtype(tensor.scalar_type()),
        sizes(tensor.sizes().vec()),
        strides(tensor.strides().vec()),
        offset(tensor.storage_offset()) {}
  bool operator==(const Geometry&) const = default;
  bool is_of(const at::Tensor& tensor) const;  // the same without a copy
  std::int64_t element_count() const;
};

// Operands of a node.
ir::Operand tensor_operand(ir::ValueId id);
ir::Operand tensors_operand(std::vector<ir::ValueId> ids);
ir::Operand attribute_operand(ir::Attribute attribute);
ir::Operand sizes_operand(at::IntArrayRef sizes);
inline ir::Operand none_operand() {
  return attribute_operand(std::monostate());
}
inline ir::Operand integer_operand(std::int64_t value) {
  return attribute_operand(ir::Size(value));
}

// The graph while it grows: nodes in order of execution.
class GraphBuilder {
 public:
  // Refused where a graph cannot hold the tensor: no strides, unknown dtype or device.
  ir::ValueId add_value(const at::Tensor& tensor, ir::Origin origin, std::size_t index);
  ir::ValueId add_value(const Geometry& geometry, const ir::Device& device, ir::Origin origin, std::size_t index);
  // A copy of `id`'s entry as the result of the node that comes next.
  ir::ValueId add_result_like(ir::ValueId id);
  // A result of the node that comes next.
  ir::ValueId add_result(const at::Tensor& tensor) { return add_value(tensor, ir::Origin::node, graph.nodes.size()); }
  ir::ValueId add_result(const Geometry& geometry, const ir::Device& device) {
    return add_value(geometry, device, ir::Origin::node, graph.nodes.size());
  }
  // Appends the node; its results were made by add_result. Returns its place.
  std::size_t add_node(std::string op, std::vector<ir::Operand> operands, std::vector<ir::ValueId> results);
  const ir::Value& value(ir::ValueId id) const { return graph.values[static_cast<std::size_t>(id)]; }

  ir::Graph graph;
  bool backward = false;  // what new nodes belong to
};

}  // namespace lathe::capture
