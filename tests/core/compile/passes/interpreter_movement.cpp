#include <algorithm>

#include "core/compile/ir/operands.h"
#include "core/compile/ir/ops.h"
#include "tests/core/compile/passes/interpreter_ops.h"

namespace lathe::testing {

namespace {

std::size_t at(std::int64_t position) {
  return static_cast<std::size_t>(position);
}

void fill(StridedArray& array, double number) {
  for_each_index(array.sizes, [&](const Index& index) { array.set(index, number); });
}

void concatenate(const Call& call) {
  StridedArray result = call.result();
  const auto dim = at(call.dim(1, result.sizes.size()));
  std::int64_t start = 0;
  for (const ir::ValueId id : call.node.operands[0].values) {
    const StridedArray& piece = call.interpreter.get(id);
    for_each_index(piece.sizes, [&](const Index& index) {
      Index to = index;
      to[dim] += start;
      result.set(to, piece.get(index));
    });
    start += piece.sizes[dim];
  }
  call.give(std::move(result));
}

void slice_backward(const Call& call) {
  StridedArray result = call.result();
  fill(result, 0.0);
  const auto dim = at(call.dim(2, result.sizes.size()));
  std::int64_t start = call.integer(3);
  if (start < 0) start += result.sizes[dim];
  const std::int64_t step = call.integer(5, 1);
  for_each_index(call.in(0).sizes, [&](const Index& index) {
    Index to = index;
    to[dim] = start + index[dim] * step;
    result.set(to, call.in(0).get(index));
  });
  call.give(std::move(result));
}

void select_backward(const Call& call) {
  StridedArray result = call.result();
  fill(result, 0.0);
  const auto dim = call.dim(2, result.sizes.size());
  for_each_index(call.in(0).sizes, [&](const Index& index) {
    Index to = index;
    to.insert(to.begin() + dim, call.integer(3) < 0 ? call.integer(3) + result.sizes[at(dim)] : call.integer(3));
    result.set(to, call.in(0).get(index));
  });
  call.give(std::move(result));
}

void pad(const Call& call) {
  StridedArray result = call.result();
  fill(result, call.number(2));
  const Index padding = call.integers(1);  // last dimension first: before, after
  for_each_index(call.in(0).sizes, [&](const Index& index) {
    Index to = index;
    for (std::size_t i = 0; i + 1 < padding.size(); i += 2) to[to.size() - 1 - i / 2] += padding[i];
    const bool inside = std::all_of(to.begin(), to.end(), [](std::int64_t place) { return place >= 0; });
    for (std::size_t dim = 0; dim < to.size(); ++dim) {
      if (!inside || to[dim] >= result.sizes[dim]) return;
    }
    result.set(to, call.in(0).get(index));
  });
  call.give(std::move(result));
}

void flip(const Call& call) {
  StridedArray result = call.result();
  Index dims = call.integers(1);
  for (std::int64_t& dim : dims) dim += dim < 0 ? static_cast<std::int64_t>(result.sizes.size()) : 0;
  for_each_index(result.sizes, [&](const Index& index) {
    Index from = index;
    for (const std::int64_t dim : dims) from[at(dim)] = result.sizes[at(dim)] - 1 - index[at(dim)];
    result.set(index, call.in(0).get(from));
  });
  call.give(std::move(result));
}

void gather(const Call& call) {
  StridedArray result = call.result();
  const auto dim = at(call.dim(1, result.sizes.size()));
  for_each_index(result.sizes, [&](const Index& index) {
    Index from = index;
    from[dim] = static_cast<std::int64_t>(call.in(2).get(index));
    result.set(index, call.in(0).get(from));
  });
  call.give(std::move(result));
}

Rule constant(std::function<double(const Call&)> number) {
  return [number = std::move(number)](const Call& call) {
    StridedArray result = call.result();
    fill(result, number(call));
    call.give(std::move(result));
  };
}

void arange(const Call& call) {
  StridedArray result = call.result();
  const bool has_start = call.node.op != "arange";
  const double start = has_start ? call.number(0) : 0.0;
  const double step = call.node.op == "arange.start_step" ? call.number(2, 1.0) : 1.0;
  for_each_index(result.sizes,
                 [&](const Index& index) { result.set(index, start + step * static_cast<double>(index[0])); });
  call.give(std::move(result));
}

}  // namespace

const Rules& movement_rules() {
  static const Rules rules = {
      {"cat", concatenate},
      {"slice_backward", slice_backward},
      {"select_backward", select_backward},
      {"constant_pad_nd", pad},
      {"flip", flip},
      {"gather", gather},
      {"zeros", constant([](const Call&) { return 0.0; })},
      {"zeros_like", constant([](const Call&) { return 0.0; })},
      {"new_zeros", constant([](const Call&) { return 0.0; })},
      {"ones", constant([](const Call&) { return 1.0; })},
      {"ones_like", constant([](const Call&) { return 1.0; })},
      {"full", constant([](const Call& call) { return call.number(1); })},
      {"full_like", constant([](const Call& call) { return call.number(1); })},
      {ir::kWrappedNumber, constant([](const Call& call) { return call.number(0); })},
      {"scalar_tensor", constant([](const Call& call) { return call.number(0); })},
      {"arange", arange},
  };
  return rules;
}

}  // namespace lathe::testing
