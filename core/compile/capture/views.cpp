#include "core/compile/capture/views.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include <ATen/TensorUtils.h>

#include "core/compile/aten/schemas.h"

namespace lathe::capture {

namespace {

// While recording all sizes are plain integers.
std::vector<std::int64_t> integers(const std::vector<ir::Size>& sizes) {
  std::vector<std::int64_t> result;
  for (const ir::Size& size : sizes) result.push_back(size.constant().value());
  return result;
}

std::int64_t integer(const ir::Node& node, std::size_t operand) {
  return std::get<ir::Size>(node.operands.at(operand).attribute).constant().value();
}

Geometry geometry_of(const ir::Value& value) {
  Geometry geometry;
  geometry.dtype = aten::to_aten(value.dtype);
  geometry.sizes = integers(value.sizes);
  geometry.strides = integers(value.strides);
  return geometry;
}

ir::ValueId add(GraphBuilder& builder, std::string op, std::vector<ir::Operand> operands, const Geometry& geometry,
                const ir::Device& device) {
  const ir::ValueId result = builder.add_result(geometry, device);
  builder.add_node(std::move(op), std::move(operands), {result});
  return result;
}

// Row-major copy; `view` then always applies.
ir::ValueId contiguous(GraphBuilder& builder, ir::ValueId id) {
  Geometry geometry = geometry_of(builder.value(id));
  std::int64_t stride = 1;
  for (std::size_t i = geometry.sizes.size(); i-- > 0;) {
    geometry.strides[i] = stride;
    stride *= std::max<std::int64_t>(geometry.sizes[i], 1);
  }
  const auto format = static_cast<std::int64_t>(at::MemoryFormat::Contiguous);
  return add(builder, "clone", {tensor_operand(id), integer_operand(format)}, geometry, builder.value(id).device);
}

ir::ValueId reshaped(GraphBuilder& builder, ir::ValueId source, const std::vector<std::int64_t>& sizes) {
  Geometry geometry = geometry_of(builder.value(source));
  const ir::Device device = builder.value(source).device;
  if (geometry.sizes == sizes) return source;
  auto strides = at::detail::computeStride(geometry.sizes, geometry.strides, sizes);
  if (!strides) {
    source = contiguous(builder, source);
    const Geometry dense = geometry_of(builder.value(source));
    strides = at::detail::computeStride(dense.sizes, dense.strides, sizes);
  }
  geometry.sizes = sizes;
  geometry.strides = strides.value();
  return add(builder, "view", {tensor_operand(source), sizes_operand(sizes)}, geometry, device);
}

// `order[i]`: the dimension of the source that becomes dimension i.
ir::ValueId reordered(GraphBuilder& builder, std::string op, std::vector<ir::Operand> operands,
                      const std::vector<std::int64_t>& order) {
  const ir::ValueId source = operands.at(0).values.at(0);
  Geometry geometry = geometry_of(builder.value(source));
  const Geometry before = geometry;
  for (std::size_t i = 0; i < order.size(); ++i) {
    geometry.sizes[i] = before.sizes[static_cast<std::size_t>(order[i])];
    geometry.strides[i] = before.strides[static_cast<std::size_t>(order[i])];
  }
  return add(builder, std::move(op), std::move(operands), geometry, builder.value(source).device);
}

std::size_t wrapped(std::int64_t dim, std::size_t rank) {
  return static_cast<std::size_t>(dim < 0 ? dim + static_cast<std::int64_t>(rank) : dim);
}

ir::ValueId swapped(GraphBuilder& builder, const ir::Node& view, ir::ValueId source) {
  const std::size_t rank = builder.value(source).sizes.size();
  if (rank == 0) return source;
  std::vector<std::int64_t> order(rank);
  for (std::size_t i = 0; i < rank; ++i) order[i] = static_cast<std::int64_t>(i);
  if (view.op == "t") {
    if (rank == 2) std::swap(order[0], order[1]);
    return reordered(builder, "t", {tensor_operand(source)}, order);
  }
  std::swap(order[wrapped(integer(view, 1), rank)], order[wrapped(integer(view, 2), rank)]);
  return reordered(builder, view.op, {tensor_operand(source), view.operands[1], view.operands[2]}, order);
}

ir::ValueId permuted_back(GraphBuilder& builder, const ir::Node& view, ir::ValueId source) {
  const auto dims = integers(std::get<std::vector<ir::Size>>(view.operands.at(1).attribute));
  std::vector<std::int64_t> inverse(dims.size());
  for (std::size_t i = 0; i < dims.size(); ++i) inverse[wrapped(dims[i], dims.size())] = static_cast<std::int64_t>(i);
  return reordered(builder, "permute", {tensor_operand(source), sizes_operand(inverse)}, inverse);
}

// The scatter that belongs to a view: (base, source, the view's other operands).
ir::ValueId scattered(GraphBuilder& builder, std::string op, ir::ValueId base, ir::ValueId source,
                      std::vector<ir::Operand> others) {
  std::vector<ir::Operand> operands = {tensor_operand(base), tensor_operand(source)};
  for (ir::Operand& operand : others) operands.push_back(std::move(operand));
  const ir::ValueId result = builder.add_result_like(base);
  builder.add_node(std::move(op), std::move(operands), {result});
  return result;
}

// Where part `result` of a split begins and ends.
std::array<std::int64_t, 2> part(const ir::Node& split, std::size_t result, std::int64_t length) {
  if (split.op == "split.Tensor") {
    const std::int64_t size = integer(split, 1);
    const std::int64_t start = size * static_cast<std::int64_t>(result);
    return {start, std::min(start + size, length)};
  }
  const auto sizes = integers(std::get<std::vector<ir::Size>>(split.operands.at(1).attribute));
  std::int64_t start = 0;
  for (std::size_t i = 0; i < result; ++i) start += sizes[i];
  return {start, start + sizes.at(result)};
}

}  // namespace

std::optional<ir::ValueId> write_through_view(GraphBuilder& builder, const ir::Node& made, std::size_t result,
                                              ir::ValueId base, ir::ValueId source) {
  const ir::Node view = made;  // nodes are appended below, which may move the list that holds it
  const auto others = [&view] { return std::vector<ir::Operand>(view.operands.begin() + 1, view.operands.end()); };
  const auto base_sizes = integers(builder.value(base).sizes);

  constexpr std::array reshapes = {"view",        "_unsafe_view", "_reshape_alias", "unsqueeze", "squeeze",
                                   "squeeze.dim", "squeeze.dims", "alias",          "detach",    "lift_fresh"};
  for (const std::string_view name : reshapes) {
    if (view.op == name) return reshaped(builder, source, base_sizes);
  }
  if (view.op == "expand" &&
      geometry_of(builder.value(source)).element_count() == geometry_of(builder.value(base)).element_count())
    return reshaped(builder, source, base_sizes);
  if (view.op == "t" || view.op == "transpose.int") return swapped(builder, view, source);
  if (view.op == "permute") return permuted_back(builder, view, source);
  if (view.op == "select.int") return scattered(builder, "select_scatter", base, source, others());
  if (view.op == "slice.Tensor") return scattered(builder, "slice_scatter", base, source, others());
  if (view.op == "diagonal") return scattered(builder, "diagonal_scatter", base, source, others());
  if (view.op == "as_strided") return scattered(builder, "as_strided_scatter", base, source, others());
  if (view.op == "unbind.int") {
    return scattered(builder, "select_scatter", base, source,
                     {view.operands.at(1), integer_operand(static_cast<std::int64_t>(result))});
  }
  if (view.op == "split.Tensor" || view.op == "split_with_sizes") {
    const std::size_t dim = wrapped(integer(view, 2), base_sizes.size());
    const auto [start, end] = part(view, result, base_sizes.at(dim));
    return scattered(builder, "slice_scatter", base, source,
                     {integer_operand(static_cast<std::int64_t>(dim)), integer_operand(start), integer_operand(end),
                      integer_operand(1)});
  }
  return std::nullopt;
}

ir::ValueId with_strides(GraphBuilder& builder, ir::ValueId id, const Geometry& geometry) {
  const auto strides = integers(builder.value(id).strides);
  bool same = true;
  for (std::size_t i = 0; i < strides.size(); ++i) same &= geometry.sizes[i] <= 1 || strides[i] == geometry.strides[i];
  if (same) return id;
  return add(builder, "clone", {tensor_operand(id), none_operand()}, geometry, builder.value(id).device);
}

}  // namespace lathe::capture
