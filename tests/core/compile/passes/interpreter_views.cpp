#include <algorithm>
#include <stdexcept>

#include "core/compile/ir/operands.h"
#include "tests/core/compile/passes/interpreter_ops.h"

namespace lathe::testing {

bool Call::has(std::size_t position) const {
  return ir::tensor_at(node, position) >= 0;
}
const StridedArray& Call::in(std::size_t position) const {
  return interpreter.get(ir::tensor_at(node, position));
}
double Call::number(std::size_t position, double otherwise) const {
  if (const auto size = ir::size_at(node, position)) return static_cast<double>(interpreter.evaluate(*size));
  return ir::number_at(node, position).value_or(otherwise);
}
std::int64_t Call::integer(std::size_t position, std::int64_t otherwise) const {
  const auto size = ir::size_at(node, position);
  return size ? interpreter.evaluate(*size) : otherwise;
}
std::int64_t Call::dim(std::size_t position, std::size_t rank, std::int64_t otherwise) const {
  const std::int64_t dim = integer(position, otherwise);
  return dim < 0 ? dim + static_cast<std::int64_t>(rank) : dim;
}
Index Call::integers(std::size_t position) const {
  Index numbers;
  for (const ir::Size& size : ir::sizes_at(node, position).value_or(std::vector<ir::Size>{}))
    numbers.push_back(interpreter.evaluate(size));
  return numbers;
}
StridedArray Call::result(std::size_t position) const {
  return interpreter.allocate(node.results.at(position));
}
void Call::give(StridedArray array, std::size_t position) const {
  interpreter.set(node.results.at(position), std::move(array));
}
bool Call::wants(std::size_t position) const {
  return position < node.results.size() && node.results[position] >= 0;
}

namespace {

std::size_t at(std::int64_t position) {
  return static_cast<std::size_t>(position);
}

// Strides of a reshape that moves nothing, as ATen's computeStride.
Index reshaped_strides(const StridedArray& from, const Index& sizes) {
  Index strides(sizes.size(), 1);
  std::int64_t view = static_cast<std::int64_t>(sizes.size()) - 1;
  std::int64_t chunk = from.strides.empty() ? 1 : from.strides.back(), elements = 1, viewed = 1;
  for (std::int64_t dim = static_cast<std::int64_t>(from.sizes.size()) - 1; dim >= 0; --dim) {
    elements *= from.sizes[at(dim)];
    const bool ends = dim == 0 || (from.sizes[at(dim - 1)] != 1 && from.strides[at(dim - 1)] != elements * chunk);
    if (!ends) continue;
    while (view >= 0 && (viewed < elements || sizes[at(view)] == 1)) {
      strides[at(view)] = viewed * chunk;
      viewed *= sizes[at(view)];
      --view;
    }
    if (viewed != elements) throw std::runtime_error("a view of these sizes would have to copy");
    if (dim > 0) {
      chunk = from.strides[at(dim - 1)];
      elements = viewed = 1;
    }
  }
  if (view >= 0 && !from.sizes.empty()) throw std::runtime_error("a view of these sizes would have to copy");
  return strides;
}

void reshape(const Call& call) {
  StridedArray view = call.in(0);
  const Index sizes = call.result().sizes;
  const StridedArray from = view;
  view.strides = reshaped_strides(from, sizes);
  view.sizes = sizes;
  call.give(view);
}

void swap_dims(const Call& call, std::int64_t a, std::int64_t b) {
  StridedArray view = call.in(0);
  if (view.sizes.size() > 1) {
    std::swap(view.sizes[at(a)], view.sizes[at(b)]);
    std::swap(view.strides[at(a)], view.strides[at(b)]);
  }
  call.give(view);
}

void slice(const Call& call) {
  StridedArray view = call.in(0);
  const auto dim = at(call.dim(1, view.sizes.size()));
  const std::int64_t size = view.sizes[dim], step = call.integer(4, 1);
  const auto clipped = [size](std::int64_t place) {
    return std::clamp<std::int64_t>(place < 0 ? place + size : place, 0, size);
  };
  const std::int64_t start = clipped(call.integer(2, 0)), end = std::max(start, clipped(call.integer(3, INT64_MAX)));
  view.offset += start * view.strides[dim];
  view.sizes[dim] = (end - start + step - 1) / step;
  view.strides[dim] *= step;
  call.give(view);
}

void split(const Call& call) {
  const StridedArray whole = call.in(0);
  const auto dim = at(call.dim(2, whole.sizes.size()));
  const Index pieces = call.integers(1);
  std::int64_t start = 0;
  for (std::size_t i = 0; i < call.node.results.size(); ++i) {
    StridedArray view = whole;
    const std::int64_t wanted = pieces.size() > 1 ? pieces[i] : pieces[0];
    view.offset += start * view.strides[dim];
    view.sizes[dim] = std::min(wanted, whole.sizes[dim] - start);
    start += view.sizes[dim];
    call.give(view, i);
  }
}

void expand(const Call& call) {
  const StridedArray from = call.in(0);
  StridedArray view = from;
  view.sizes = call.result().sizes;
  view.strides.assign(view.sizes.size(), 0);
  const std::size_t ahead = view.sizes.size() - from.sizes.size();
  for (std::size_t dim = 0; dim < from.sizes.size(); ++dim)
    view.strides[dim + ahead] = from.sizes[dim] == view.sizes[dim + ahead] ? from.strides[dim] : 0;
  call.give(view);
}

void squeeze(const Call& call) {
  const StridedArray from = call.in(0);
  StridedArray view = from;
  view.sizes.clear();
  view.strides.clear();
  Index dims = call.integers(1);
  for (std::int64_t& dim : dims) dim += dim < 0 ? static_cast<std::int64_t>(from.sizes.size()) : 0;
  for (std::size_t dim = 0; dim < from.sizes.size(); ++dim) {
    const bool named =
        dims.empty() || std::find(dims.begin(), dims.end(), static_cast<std::int64_t>(dim)) != dims.end();
    if (from.sizes[dim] == 1 && named) continue;
    view.sizes.push_back(from.sizes[dim]);
    view.strides.push_back(from.strides[dim]);
  }
  call.give(view);
}

void select(const Call& call) {
  StridedArray view = call.in(0);
  const auto dim = call.dim(1, view.sizes.size());
  std::int64_t place = call.integer(2);
  if (place < 0) place += view.sizes[at(dim)];
  view.offset += place * view.strides[at(dim)];
  view.sizes.erase(view.sizes.begin() + dim);
  view.strides.erase(view.strides.begin() + dim);
  call.give(view);
}

void unsqueeze(const Call& call) {
  StridedArray view = call.in(0);
  const auto dim = call.dim(1, view.sizes.size() + 1);
  const bool last = at(dim) == view.sizes.size();
  const std::int64_t stride = last ? 1 : view.sizes[at(dim)] * view.strides[at(dim)];
  view.sizes.insert(view.sizes.begin() + dim, 1);
  view.strides.insert(view.strides.begin() + dim, stride);
  call.give(view);
}

void permute(const Call& call) {
  const StridedArray from = call.in(0);
  StridedArray view = from;
  const Index dims = call.integers(1);
  for (std::size_t i = 0; i < dims.size(); ++i) {
    const auto dim = at(dims[i] < 0 ? dims[i] + static_cast<std::int64_t>(dims.size()) : dims[i]);
    view.sizes[i] = from.sizes[dim];
    view.strides[i] = from.strides[dim];
  }
  call.give(view);
}

}  // namespace

const Rules& view_rules() {
  static const Rules rules = {
      {"view", reshape},
      {"_unsafe_view", reshape},
      {"_reshape_alias", reshape},
      {"t", [](const Call& call) { swap_dims(call, 0, 1); }},
      {"transpose",
       [](const Call& call) {
         const std::size_t rank = call.in(0).sizes.size();
         swap_dims(call, call.dim(1, rank), call.dim(2, rank));
       }},
      {"permute", permute},
      {"slice", slice},
      {"select", select},
      {"split", split},
      {"split_with_sizes", split},
      {"expand", expand},
      {"squeeze", squeeze},
      {"unsqueeze", unsqueeze},
      {"detach", [](const Call& call) { call.give(call.in(0)); }},
      {"alias", [](const Call& call) { call.give(call.in(0)); }},
  };
  return rules;
}

}  // namespace lathe::testing
