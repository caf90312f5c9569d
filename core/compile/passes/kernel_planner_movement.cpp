#include "core/compile/ir/operands.h"
#include "core/compile/ir/shape.h"
#include "core/compile/passes/kernel_planner.h"

// Operators that move elements: which one is read follows from conditions on the index.

namespace lathe::passes {

using ir::DType;
using ir::ExprOp;
using ir::Node;
using ir::Size;
using ir::ValueId;

namespace {
std::size_t at(std::int32_t id) {
  return static_cast<std::size_t>(id);
}
}  // namespace

ExprId KernelPlanner::index_expr(const Affine& index) {
  ExprId sum = index.terms.empty() || !(index.offset == Size(0)) ? builder_.size(index.offset, DType::i64) : -1;
  for (const auto& [dim, coefficient] : index.terms) {
    ExprId term = builder_.index(dim);
    if (!(coefficient == Size(1)))
      term = builder_.op(ExprOp::mul, {term, builder_.size(coefficient, DType::i64)}, DType::i64);
    sum = sum < 0 ? term : builder_.op(ExprOp::add, {sum, term}, DType::i64);
  }
  return sum;
}

bool KernelPlanner::always_at_least(const Affine& index, const Size& bound) const {
  Size least = index.offset - bound;
  for (const auto& [dim, coefficient] : index.terms) {
    if (ir::at_least(coefficient, 0, domain_.symbols)) continue;
    least = least + coefficient * (domain_.sizes[at(dim)] - Size(1));
  }
  return ir::at_least(least, 0, domain_.symbols);
}

bool KernelPlanner::always_below(const Affine& index, const Size& bound) const {
  Size room = bound - Size(1) - index.offset;
  for (const auto& [dim, coefficient] : index.terms) {
    if (ir::at_least(coefficient * Size(-1), 0, domain_.symbols)) continue;
    room = room - coefficient * (domain_.sizes[at(dim)] - Size(1));
  }
  return ir::at_least(room, 0, domain_.symbols);
}

bool KernelPlanner::inside(const IndexMap& map, const std::vector<Size>& sizes) const {
  for (std::size_t dim = 0; dim < map.size(); ++dim) {
    if (!always_at_least(map[dim], Size(0)) || !always_below(map[dim], sizes[dim])) return false;
  }
  return true;
}

ExprId KernelPlanner::between(const Affine& index, const Size& from, const Size& to, ExprId condition) {
  const auto both = [&](ExprId more) {
    return condition < 0 ? more : builder_.op(ExprOp::logical_and, {condition, more}, DType::boolean);
  };
  if (!always_at_least(index, from)) {
    condition =
        both(builder_.op(ExprOp::greater_equal, {index_expr(index), builder_.size(from, DType::i64)}, DType::boolean));
  }
  if (!always_below(index, to)) {
    condition = both(builder_.op(ExprOp::less, {index_expr(index), builder_.size(to, DType::i64)}, DType::boolean));
  }
  return condition;
}

ExprId KernelPlanner::movement(const Node& node, const IndexMap& map, ExprId condition) {
  const std::string_view name = ir::plain_name(node.op);
  if (name == "cat") return concatenation(node, map, condition);
  if (name == "slice_backward") return slice_backward(node, map, condition);
  if (name == "select_backward") return select_backward(node, map, condition);
  if (name == "constant_pad_nd") return padding(node, map, condition);
  IndexMap mirrored = map;  // flip
  for (const std::int64_t dim : ir::integers_at(node, 1).value_or(std::vector<std::int64_t>{})) {
    const std::size_t place = dimension(dim, map.size());
    Affine last;
    last.offset = value(node.results[0]).sizes[place] - Size(1);
    mirrored[place] = add_scaled(last, map[place], Size(-1));
  }
  return evaluate(ir::tensor_at(node, 0), mirrored, condition);
}

ExprId KernelPlanner::concatenation(const Node& node, const IndexMap& map, ExprId condition) {
  const std::size_t dim = dimension(ir::integer_at(node, 1).value_or(0), map.size());
  struct Piece {
    ExprId inside, expr;
  };
  std::vector<Piece> pieces;
  Size start = 0;
  for (const ValueId id : node.operands[0].values) {
    if (id < 0 || value(id).sizes.size() != map.size()) throw Refused{"a piece of another rank is concatenated"};
    const Size begin = start;
    start = start + value(id).sizes[dim];
    if (always_at_least(map[dim], start) || always_below(map[dim], begin)) continue;  // none of this piece is read
    Affine back;
    back.offset = begin * Size(-1);
    IndexMap place = map;
    place[dim] = add_scaled(back, map[dim], Size(1));
    const ExprId own = between(map[dim], begin, start, -1);
    const ExprId guard = between(map[dim], begin, start, condition);
    pieces.push_back({own, evaluate(id, place, guard)});
  }
  if (pieces.empty()) throw Refused{"a concatenation of nothing"};
  const DType type = value(node.results[0]).dtype;
  ExprId result = pieces.back().expr;
  for (std::size_t i = pieces.size() - 1; i-- > 0;) {
    if (pieces[i].inside < 0) return pieces[i].expr;  // this piece alone
    result = builder_.op(ExprOp::select, {pieces[i].inside, builder_.cast(pieces[i].expr, type), result}, type);
  }
  return builder_.cast(result, type);
}

ExprId KernelPlanner::slice_backward(const Node& node, const IndexMap& map, ExprId condition) {
  const std::size_t dim = dimension(ir::integer_at(node, 2).value_or(0), map.size());
  const ValueId operand = ir::tensor_at(node, 0);
  if (ir::integer_at(node, 5).value_or(1) != 1) throw Refused{"the gradient of a slice with steps"};
  Size start = ir::size_at(node, 3).value_or(Size(0));
  if (start.constant() && *start.constant() < 0) start = start + value(node.results[0]).sizes[dim];
  const Size end = start + value(operand).sizes[dim];
  Affine back;
  back.offset = start * Size(-1);
  IndexMap place = map;
  place[dim] = add_scaled(back, map[dim], Size(1));
  const ExprId own = between(map[dim], start, end, -1);
  const DType type = value(node.results[0]).dtype;
  const ExprId inner = builder_.cast(evaluate(operand, place, between(map[dim], start, end, condition)), type);
  return own < 0 ? inner : builder_.op(ExprOp::select, {own, inner, builder_.constant(0.0, type)}, type);
}

ExprId KernelPlanner::select_backward(const Node& node, const IndexMap& map, ExprId condition) {
  const std::size_t dim = dimension(ir::integer_at(node, 2).value_or(0), map.size());
  Size place = ir::size_at(node, 3).value_or(Size(0));
  if (place.constant() && *place.constant() < 0) place = place + value(node.results[0]).sizes[dim];
  IndexMap rest = map;
  rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(dim));
  const ExprId own = between(map[dim], place, place + Size(1), -1);
  const DType type = value(node.results[0]).dtype;
  const ExprId inner = builder_.cast(evaluate(ir::tensor_at(node, 0), rest, condition), type);
  return own < 0 ? inner : builder_.op(ExprOp::select, {own, inner, builder_.constant(0.0, type)}, type);
}

ExprId KernelPlanner::padding(const Node& node, const IndexMap& map, ExprId condition) {
  const ValueId operand = ir::tensor_at(node, 0);
  const auto amounts = ir::sizes_at(node, 1);  // the last dimension first: before, after
  if (!amounts) throw Refused{"padding of unknown sizes"};
  IndexMap place = map;
  ExprId own = -1, guard = condition;
  for (std::size_t i = 0; i + 1 < amounts->size(); i += 2) {
    const std::size_t dim = map.size() - 1 - i / 2;
    const Size start = (*amounts)[i], end = start + value(operand).sizes[dim];
    Affine back;
    back.offset = start * Size(-1);
    own = between(map[dim], start, end, own);
    guard = between(map[dim], start, end, guard);
    place[dim] = add_scaled(back, map[dim], Size(1));
  }
  const DType type = value(node.results[0]).dtype;
  const ExprId inner = builder_.cast(evaluate(operand, place, guard), type);
  const double fill = ir::number_at(node, 2).value_or(0.0);
  return own < 0 ? inner : builder_.op(ExprOp::select, {own, inner, builder_.constant(fill, type)}, type);
}

}  // namespace lathe::passes
