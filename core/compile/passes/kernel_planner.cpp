#include "core/compile/passes/kernel_planner.h"

#include <algorithm>
#include <array>

#include "core/compile/ir/operands.h"
#include "core/compile/ir/ops.h"
#include "core/compile/ir/shape.h"
#include "core/compile/passes/lowering.h"

namespace lathe::passes {

using ir::DType;
using ir::ExprOp;
using ir::Node;
using ir::OpKind;
using ir::Size;
using ir::ValueId;

namespace {

constexpr std::size_t kMostExprs = 400;

std::size_t at(std::int32_t id) {
  return static_cast<std::size_t>(id);
}

}  // namespace

bool is_cumulative(std::string_view name) {
  return name == "cumsum";
}

bool is_reduction(std::string_view name) {
  return name == "sum" || name == "mean" || name == "amax";
}

bool is_movement(std::string_view name) {
  constexpr std::array<std::string_view, 5> names = {"cat", "constant_pad_nd", "flip", "select_backward",
                                                     "slice_backward"};
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool is_factory(std::string_view name) {
  constexpr std::array<std::string_view, 10> names = {
      "zeros", "zeros_like", "new_zeros", "ones",          "ones_like",
      "full",  "full_like",  "arange",    "scalar_tensor", ir::kWrappedNumber};
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Which dimensions a reduction or running sum goes along; none named: all.
std::vector<bool> named_dimensions(const ir::Graph& graph, const Node& node) {
  const std::size_t rank = graph.values[at(ir::tensor_at(node, 0))].sizes.size();
  const bool takes_dims = ir::local_name(node.op) != "sum" && ir::local_name(node.op) != "mean";
  const auto dims = takes_dims ? ir::integers_at(node, 1) : std::nullopt;
  std::vector<bool> named(rank, !dims || dims->empty());
  if (dims) {
    for (const std::int64_t dim : *dims) named[dimension(dim, rank)] = true;
  }
  return named;
}

// The dimension that it goes along where that is the last which is not 1, and it alone.
std::optional<std::size_t> row_dimension(const ir::Graph& graph, const Node& node) {
  const auto& sizes = graph.values[at(ir::tensor_at(node, 0))].sizes;
  const std::vector<bool> named = named_dimensions(graph, node);
  std::optional<std::size_t> row;
  for (std::size_t dim = 0; dim < sizes.size(); ++dim) {
    if (sizes[dim] == Size(1)) continue;
    if (row && named[*row]) return std::nullopt;  // one before it, too
    row = dim;
  }
  return row && named[*row] ? row : std::nullopt;
}

ir::KernelSpec
KernelPlanner::run() {  // The last first: what it reads is then evaluated where it needs it, and stored from there.
  for (std::size_t i = request_.stores.size(); i-- > 0;) store(request_.stores[i]);
  std::reverse(stores_.begin(), stores_.end());
  ir::KernelSpec kernel;
  kernel.domain = domain_.sizes;
  kernel.exprs = builder_.take();
  kernel.stores = std::move(stores_);
  for (const std::int32_t node : request_.nodes) kernel.replaced.push_back(context_.graph.nodes[at(node)].op);
  return kernel;
}

IndexMap KernelPlanner::own_indices(std::size_t dims) const {
  IndexMap map;
  for (std::size_t dim = 0; dim < dims; ++dim) map.push_back(index_of(static_cast<std::int32_t>(dim)));
  return map;
}

// Where an element of the value lies, if its elements follow one another as the kernel goes through its domain.
IndexMap KernelPlanner::place_of(ValueId id, bool once_a_row) const {
  const std::size_t dims = domain_.sizes.size() - (once_a_row ? 1 : 0);
  const std::vector<Size> walked(domain_.sizes.begin(), domain_.sizes.begin() + static_cast<std::ptrdiff_t>(dims));
  return reshape_map(own_indices(dims), walked, value(id).sizes, domain_);
}

void KernelPlanner::store(ValueId id) {
  const std::size_t dims = domain_.sizes.size();
  const Size elements = ir::element_count(value(id).sizes), walked = ir::element_count(domain_.sizes);
  const bool once_a_row = domain_.has_row && !(elements == walked);
  if (!(once_a_row ? elements * domain_.sizes.back() == walked : elements == walked))
    throw Refused{"values of different sizes are stored"};
  // Where a reader in this kernel has it computed for each element once already, it is stored from there.
  std::optional<IndexMap> place;
  for (const Evaluated& known : evaluated_[id]) {
    if (known.condition < 0 && covers(known.map, value(id).sizes, domain_, once_a_row ? dims - 1 : dims)) {
      place = known.map;
      break;
    }
  }
  if (!place) place = place_of(id, once_a_row);
  ir::Store store;
  store.expr = evaluate(id, *place, -1);
  store.once_a_row = once_a_row;
  store.access.value = id;
  Affine address;
  for (std::size_t dim = 0; dim < place->size(); ++dim)
    address = add_scaled(address, (*place)[dim], value(id).strides[dim]);
  for (std::size_t dim = 0; dim < dims; ++dim)
    store.access.strides.push_back(address.coefficient(static_cast<std::int32_t>(dim)));
  store.access.offset = address.offset;
  stores_.push_back(std::move(store));
}

ExprId KernelPlanner::evaluate(ValueId id, const IndexMap& map, ExprId condition) {
  // A condition guards against places outside the value; where none is, it is not needed.
  if (condition >= 0 && inside(map, value(id).sizes)) condition = -1;
  auto& known = evaluated_[id];
  for (const Evaluated& entry : known) {
    if (entry.condition == condition && entry.map == map) return entry.expr;
  }
  if (builder_.count() > kMostExprs) throw Refused{"too many expressions"};
  const std::int32_t node = context_.made_by[at(id)];
  ExprId expr = -1;
  if (node >= 0 && ir::kind(context_.graph.nodes[at(node)].op) == OpKind::view) {
    expr = through_view(id, node, map, condition);
  } else if (node >= 0 && computes(node)) {
    expr = compute(id, node, map, condition);
  } else {
    expr = load(id, map, condition);
  }
  evaluated_[id].push_back({map, condition, expr});
  return expr;
}

ExprId KernelPlanner::through_view(ValueId id, std::int32_t node, const IndexMap& map, ExprId condition) {
  const Node& view = context_.graph.nodes[at(node)];
  const auto which =
      static_cast<std::size_t>(std::find(view.results.begin(), view.results.end(), id) - view.results.begin());
  const ValueId operand = ir::tensor_at(view, 0);
  try {
    return evaluate(operand, pull_through_view(context_.graph, view, which, map, domain_), condition);
  } catch (const Refused&) {
    // No index map, but the view itself can be read where what it shows lies in memory.
    ValueId shown = operand;
    std::int32_t maker = context_.made_by[at(shown)];
    while (maker >= 0 && ir::kind(context_.graph.nodes[at(maker)].op) == OpKind::view) {
      shown = ir::tensor_at(context_.graph.nodes[at(maker)], 0);
      maker = context_.made_by[at(shown)];
    }
    if (maker >= 0 && computes(maker)) throw;
    return load(id, map, condition);
  }
}

ExprId KernelPlanner::load(ValueId id, const IndexMap& map, ExprId condition) {
  // ATen takes numbers on the host beside tensors on a card; a kernel cannot follow such an address.
  if (!(value(id).device == value(request_.stores.front()).device)) throw Refused{"operands on different devices"};
  Affine address;
  for (std::size_t dim = 0; dim < map.size(); ++dim) address = add_scaled(address, map[dim], value(id).strides[dim]);
  ir::Access access;
  access.value = id;
  access.offset = address.offset;
  for (std::size_t dim = 0; dim < domain_.sizes.size(); ++dim)
    access.strides.push_back(address.coefficient(static_cast<std::int32_t>(dim)));
  return builder_.load(std::move(access), value(id).dtype, condition);
}

ExprId KernelPlanner::compute(ValueId id, std::int32_t node_index, const IndexMap& map, ExprId condition) {
  const Node& node = context_.graph.nodes[at(node_index)];
  const std::string_view name = ir::plain_name(node.op);
  if (is_factory(name)) return builder_.cast(factory(node, map), value(id).dtype);
  if (is_reduction(name)) return builder_.cast(reduction(node, map, condition), value(id).dtype);
  if (is_cumulative(name)) return builder_.cast(running_sum(node, map, condition), value(id).dtype);
  if (is_movement(name)) return movement(node, map, condition);
  return pointwise(node, map, condition);
}

ExprId KernelPlanner::pointwise(const Node& node, const IndexMap& map, ExprId condition) {
  return lower(context_.graph, node, builder_,
               [&](ValueId operand) { return evaluate(operand, broadcast_map(map, value(operand).sizes), condition); });
}

bool KernelPlanner::depends_on_row(const IndexMap& map) const {
  return std::any_of(map.begin(), map.end(),
                     [&](const Affine& index) { return !index.terms.empty() && index.terms.back().first == row(); });
}

ExprId KernelPlanner::reduction(const Node& node, const IndexMap& map, ExprId condition) {
  const auto dim = row_dimension(context_.graph, node);
  const ValueId operand = ir::tensor_at(node, 0);
  const auto& sizes = value(operand).sizes;
  if (!dim || !domain_.has_row) throw Refused{"a reduction that is not along the row"};
  if (!(sizes[*dim] == domain_.sizes.back())) throw Refused{"reductions along rows of different lengths"};
  if (condition >= 0 || depends_on_row(map)) throw Refused{"a reduction inside a row"};
  // The result has an index for each dimension, or for those alone that were not reduced.
  const std::vector<bool> named = named_dimensions(context_.graph, node);
  const bool kept = map.size() == sizes.size();
  IndexMap inner(sizes.size());
  for (std::size_t i = 0, next = 0; i < sizes.size(); ++i) {
    if (!named[i]) inner[i] = map.at(next);
    if (!named[i] || kept) ++next;
  }
  inner[*dim] = index_of(row());
  const DType result = value(node.results[0]).dtype;
  const DType type = is_float(result) ? compute_type(result) : DType::i64;
  const std::string_view name = ir::plain_name(node.op);
  if (name == "amax" && !is_float(result)) throw Refused{"the largest of whole numbers"};
  const ExprId x = builder_.cast(evaluate(operand, inner, -1), type);
  const ExprId total = builder_.op(name == "amax" ? ExprOp::reduce_max : ExprOp::reduce_sum, {x}, type);
  return name == "mean" ? builder_.op(ExprOp::div, {total, builder_.size(domain_.sizes.back(), type)}, type) : total;
}

ExprId KernelPlanner::running_sum(const Node& node, const IndexMap& map, ExprId condition) {
  const auto dim = row_dimension(context_.graph, node);
  const ValueId operand = ir::tensor_at(node, 0);
  if (!dim || !domain_.has_row || condition >= 0) throw Refused{"a running sum that is not along the row"};
  if (!(map[*dim] == index_of(row())) || !(value(operand).sizes[*dim] == domain_.sizes.back()))
    throw Refused{"a running sum read in another order"};
  const DType type = compute_type(value(node.results[0]).dtype);
  return builder_.op(ExprOp::cumulative_sum, {builder_.cast(evaluate(operand, map, -1), type)}, type);
}

ExprId KernelPlanner::factory(const Node& node, const IndexMap& map) {
  const std::string_view name = ir::plain_name(node.op);
  const DType type = compute_type(value(node.results[0]).dtype);
  const auto number = [&](std::size_t position, double otherwise) {
    if (const auto size = ir::size_at(node, position)) return builder_.size(*size, type);
    return builder_.constant(ir::number_at(node, position).value_or(otherwise), type);
  };
  if (name == "full" || name == "full_like") return number(1, 0.0);
  if (name == "scalar_tensor" || name == ir::kWrappedNumber) return number(0, 0.0);
  if (name != "arange") return builder_.constant(name.find("ones") != std::string_view::npos ? 1.0 : 0.0, type);
  const ExprId index = builder_.cast(index_expr(map.at(0)), type);
  if (ir::local_name(node.op) == "arange") return index;
  const ExprId start = number(0, 0.0),
               step = ir::local_name(node.op) == "arange.start_step" ? number(2, 1.0) : builder_.constant(1.0, type);
  return builder_.op(ExprOp::add, {start, builder_.op(ExprOp::mul, {index, step}, type)}, type);
}

}  // namespace lathe::passes
