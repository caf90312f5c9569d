#include "core/compile/capture/graph_builder.h"

#include <utility>

#include "core/base/format.h"
#include "core/compile/aten/schemas.h"

namespace lathe::capture {

namespace {

std::vector<ir::Size> to_sizes(const std::vector<std::int64_t>& integers) {
  return {integers.begin(), integers.end()};
}

}  // namespace

bool Geometry::is_of(const at::Tensor& tensor) const {
  return dtype == tensor.scalar_type() && offset == tensor.storage_offset() &&
         tensor.sizes() == at::IntArrayRef(sizes) && tensor.strides() == at::IntArrayRef(strides);
}

std::int64_t Geometry::element_count() const {
  std::int64_t count = 1;
  for (const std::int64_t size : sizes) count *= size;
  return count;
}

ir::Operand tensor_operand(ir::ValueId id) {
  return {.kind = ir::Operand::Kind::tensor, .values = {id}};
}

ir::Operand tensors_operand(std::vector<ir::ValueId> ids) {
  return {.kind = ir::Operand::Kind::tensors, .values = std::move(ids)};
}

ir::Operand attribute_operand(ir::Attribute attribute) {
  return {.kind = ir::Operand::Kind::attribute, .attribute = std::move(attribute)};
}

ir::Operand sizes_operand(at::IntArrayRef sizes) {
  return attribute_operand(to_sizes(sizes.vec()));
}

ir::ValueId GraphBuilder::add_value(const at::Tensor& tensor, ir::Origin origin, std::size_t index) {
  if (tensor.layout() != at::kStrided || tensor.is_quantized() || !tensor.has_storage())
    throw Refused(format("a tensor of layout {} takes part", c10::str(tensor.layout())));
  const auto device = aten::to_ir(tensor.device());
  if (!device) throw Refused(format("a tensor on the device {} takes part", tensor.device().str()));
  return add_value(Geometry(tensor), *device, origin, index);
}

ir::ValueId GraphBuilder::add_value(const Geometry& geometry, const ir::Device& device, ir::Origin origin,
                                    std::size_t index) {
  const auto dtype = aten::to_ir(geometry.dtype);
  if (!dtype) throw Refused(format("a tensor of dtype {} takes part", toString(geometry.dtype)));
  graph.values.push_back({.dtype = *dtype,
                          .device = device,
                          .sizes = to_sizes(geometry.sizes),
                          .strides = to_sizes(geometry.strides),
                          .origin = origin,
                          .index = static_cast<std::int32_t>(index)});
  return static_cast<ir::ValueId>(graph.values.size() - 1);
}

ir::ValueId GraphBuilder::add_result_like(ir::ValueId id) {
  ir::Value copy = value(id);
  copy.origin = ir::Origin::node;
  copy.index = static_cast<std::int32_t>(graph.nodes.size());
  graph.values.push_back(std::move(copy));
  return static_cast<ir::ValueId>(graph.values.size() - 1);
}

std::size_t GraphBuilder::add_node(std::string op, std::vector<ir::Operand> operands,
                                   std::vector<ir::ValueId> results) {
  graph.nodes.push_back(
      {.op = std::move(op), .operands = std::move(operands), .results = std::move(results), .backward = backward});
  return graph.nodes.size() - 1;
}

}  // namespace lathe::capture
