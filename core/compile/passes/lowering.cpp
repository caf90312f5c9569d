#include "core/compile/passes/lowering.h"

#include <algorithm>
#include <array>

#include "core/compile/ir/operands.h"
#include "core/compile/ir/ops.h"
#include "core/compile/ir/shape.h"
#include "core/compile/passes/lowering_rules.h"
#include "core/compile/passes/rewriter.h"

namespace lathe::passes {

using ir::DType;
using ir::ExprOp;
using ir::Node;

namespace {

template <ExprOp kOp>
ExprId unary(const Lowering& l) {
  return l.op(kOp, {l.x(0)});
}
template <ExprOp kOp>
ExprId binary(const Lowering& l) {
  return l.op(kOp, {l.x(0), l.x(1)});
}
template <ExprOp kOp>
ExprId compare(const Lowering& l) {
  return l.test(kOp, l.x(0), l.x(1));
}
template <ExprOp kOp>
ExprId logical(const Lowering& l) {
  return l.test(kOp, l.condition(0), l.condition(1));
}
ExprId same(const Lowering& l) {
  return l.raw(0);
}

// b · alpha, the second operand of add and sub.
ExprId scaled(const Lowering& l, std::size_t position) {
  const double alpha = l.number(2, 1.0);
  return alpha == 1.0 ? l.x(position) : l.mul(l.x(position), l.c(alpha));
}

ExprId pow(const Lowering& l) {
  const auto exponent = ir::number_at(l.node(), 1);
  if (!exponent) return l.op(ExprOp::pow, {l.x(0), l.x(1)});
  const ExprId x = l.x(0);
  if (*exponent == 1.0) return x;
  if (*exponent == 2.0) return l.mul(x, x);
  if (*exponent == 3.0) return l.mul(l.mul(x, x), x);
  if (*exponent == 0.5) return l.op(ExprOp::sqrt, {x});
  if (*exponent == -0.5) return l.op(ExprOp::rsqrt, {x});
  if (*exponent == -1.0) return l.op(ExprOp::reciprocal, {x});
  if (*exponent == -2.0) return l.op(ExprOp::reciprocal, {l.mul(x, x)});
  return l.op(ExprOp::pow, {x, l.c(*exponent)});
}

ExprId clamp(const Lowering& l) {
  ExprId x = l.x(0);
  if (l.given(1)) x = l.exact(ExprOp::maximum, {x, l.x(1)});
  if (l.given(2)) x = l.exact(ExprOp::minimum, {x, l.x(2)});
  return x;
}

ExprId lerp(const Lowering& l) {  // start + weight · (end − start), from the nearer end
  const ExprId start = l.x(0), end = l.x(1), weight = l.x(2), way = l.sub(end, start);
  const ExprId near = l.add(start, l.mul(weight, way)), far = l.sub(end, l.mul(way, l.sub(l.c(1.0), weight)));
  return l.select(l.test(ExprOp::less, l.op(ExprOp::abs, {weight}), l.c(0.5)), near, far);
}

ExprId addcmul(const Lowering& l) {
  return l.add(l.x(0), l.mul(l.mul(l.c(l.number(3, 1.0)), l.x(1)), l.x(2)));
}

ExprId addcdiv(const Lowering& l) {
  return l.add(l.x(0), l.div(l.mul(l.c(l.number(3, 1.0)), l.x(1)), l.x(2)));
}

ExprId where(const Lowering& l) {
  return l.exact(ExprOp::select, {l.condition(0), l.x(1), l.x(2)}, 1);
}

ExprId masked_fill(const Lowering& l) {
  return l.exact(ExprOp::select, {l.condition(1), l.x(2), l.x(0)}, 1);
}

// One operator a line; those that need more than a line are above.
const LoweringRules& element_rules() {
  static const LoweringRules table = {
      {"abs", [](const Lowering& l) { return l.exact(ExprOp::abs, {l.x(0)}); }},
      {"add", [](const Lowering& l) { return l.add(l.x(0), scaled(l, 1)); }},
      {"addcdiv", addcdiv},
      {"addcmul", addcmul},
      {"bitwise_and", logical<ExprOp::logical_and>},
      {"bitwise_not", [](const Lowering& l) { return l.op(ExprOp::logical_not, {l.condition(0)}); }},
      {"bitwise_or", logical<ExprOp::logical_or>},
      {"ceil", unary<ExprOp::ceil>},
      {"clamp", clamp},
      {"clamp_max",
       [](const Lowering& l) {
         return l.exact(ExprOp::minimum, {l.x(0), l.x(1)});
       }},
      {"clamp_min",
       [](const Lowering& l) {
         return l.exact(ExprOp::maximum, {l.x(0), l.x(1)});
       }},
      {"clone", same},
      {"cos", unary<ExprOp::cos>},
      {"div", binary<ExprOp::div>},
      {"eq", compare<ExprOp::equal>},
      {"erf", unary<ExprOp::erf>},
      {"exp", unary<ExprOp::exp>},
      {"expm1", unary<ExprOp::expm1>},
      {"fill", [](const Lowering& l) { return l.x(1); }},
      {"floor", unary<ExprOp::floor>},
      {"ge", compare<ExprOp::greater_equal>},
      {"gt", compare<ExprOp::greater>},
      {"le", compare<ExprOp::less_equal>},
      {"lerp", lerp},
      {"log", unary<ExprOp::log>},
      {"log1p", unary<ExprOp::log1p>},
      {"logical_and", logical<ExprOp::logical_and>},
      {"logical_not", [](const Lowering& l) { return l.op(ExprOp::logical_not, {l.condition(0)}); }},
      {"logical_or", logical<ExprOp::logical_or>},
      {"lt", compare<ExprOp::less>},
      {"masked_fill", masked_fill},
      {"maximum",
       [](const Lowering& l) {
         return l.exact(ExprOp::maximum, {l.x(0), l.x(1)});
       }},
      {"minimum",
       [](const Lowering& l) {
         return l.exact(ExprOp::minimum, {l.x(0), l.x(1)});
       }},
      {"mul", binary<ExprOp::mul>},
      {"ne", compare<ExprOp::not_equal>},
      {"neg", [](const Lowering& l) { return l.exact(ExprOp::neg, {l.x(0)}); }},
      {"pow", pow},
      {"reciprocal", unary<ExprOp::reciprocal>},
      {"relu",
       [](const Lowering& l) {
         return l.exact(ExprOp::maximum, {l.x(0), l.c(0.0)});
       }},
      {"round", unary<ExprOp::round>},
      {"rsqrt", unary<ExprOp::rsqrt>},
      {"rsub", [](const Lowering& l) { return l.sub(l.x(1), scaled(l, 0)); }},
      {"sigmoid", unary<ExprOp::sigmoid>},
      {"sin", unary<ExprOp::sin>},
      {"sqrt", unary<ExprOp::sqrt>},
      {"sub", [](const Lowering& l) { return l.sub(l.x(0), scaled(l, 1)); }},
      {"tanh", unary<ExprOp::tanh>},
      {"where", where},
      {"_to_copy", same},
  };
  return table;
}

const LoweringRules& rules() {
  static const LoweringRules table = [] {
    LoweringRules all = element_rules();
    all.insert(activation_rules().begin(), activation_rules().end());
    return all;
  }();
  return table;
}

bool is_comparison(std::string_view name) {
  constexpr std::array<std::string_view, 6> names = {"eq", "ne", "lt", "le", "gt", "ge"};
  return std::find(names.begin(), names.end(), name) != names.end();
}

// The type that operands meet in: tensors with dimensions decide, others only where there is none, numbers of C++ never
// but for a real one among whole ones.
DType meeting_type(const ir::Graph& graph, const Node& node) {
  DType type = DType::boolean;
  bool any = false, from_dimensions = false, real_number = false;
  ir::for_each_read(node, [&](ir::ValueId id) {
    const Node* maker = definition(graph, id);
    if (maker != nullptr && maker->op == ir::kWrappedNumber) {
      real_number = real_number || is_float(graph.values[static_cast<std::size_t>(id)].dtype);
      return;
    }
    const ir::Value& value = graph.values[static_cast<std::size_t>(id)];
    const bool has_dimensions = !value.sizes.empty();
    const DType candidate = compute_type(value.dtype);
    const bool wider =
        is_float(candidate) != is_float(type) ? is_float(candidate) : ir::byte_size(candidate) > ir::byte_size(type);
    if (!any || (has_dimensions && !from_dimensions) || (wider && has_dimensions == from_dimensions)) type = candidate;
    any = true;
    from_dimensions = from_dimensions || has_dimensions;
  });
  for (const ir::Operand& operand : node.operands) {
    const bool attribute = operand.kind == ir::Operand::Kind::attribute;
    real_number = real_number || (attribute && std::holds_alternative<double>(operand.attribute));
  }
  if (real_number && !is_float(type)) type = DType::f32;
  return type;
}

// Whole numbers only meet operations that are the same on them.
bool fits_integers(std::string_view name) {
  constexpr std::array<std::string_view, 16> names = {
      "add",       "sub",       "rsub",  "mul",         "neg",   "maximum", "minimum", "clamp",
      "clamp_min", "clamp_max", "where", "masked_fill", "clone", "fill",    "abs",     "_to_copy"};
  return std::find(names.begin(), names.end(), name) != names.end();
}

// A number that varies with a size is read as an operand, never as one of the parameters after them.
bool has_symbolic_parameter(const Node& node, std::string_view name) {
  const bool all_operands = name == "clamp" || name == "where" || name == "masked_fill";
  for (std::size_t i = 2; i < node.operands.size() && !all_operands; ++i) {
    const auto size = ir::size_at(node, i);
    if (size && !size->is_constant()) return true;
  }
  return false;
}

}  // namespace

bool can_lower(const ir::Graph& graph, const Node& node) {
  const std::string_view name = ir::plain_name(node.op);
  if (!rules().contains(name) || node.results.size() != 1 || node.results[0] < 0 || !ir::is_pure(node)) return false;
  const DType result = graph.values[static_cast<std::size_t>(node.results[0])].dtype;
  if (has_symbolic_parameter(node, name)) return false;
  if (name.starts_with("bitwise_")) return result == DType::boolean;
  if (name == "div" && node.operands.size() > 2) return false;  // with a rounding mode
  if (name == "round" && node.operands.size() > 1 && ir::number_at(node, 1).value_or(0.0) != 0.0) return false;
  if (name == "abs" && !is_float(result)) return false;
  const bool gives_condition = is_comparison(name) || name.starts_with("logical_") || name.starts_with("bitwise_");
  return is_float(result) || gives_condition || fits_integers(name);
}

ExprId lower(const ir::Graph& graph, const Node& node, ExprBuilder& builder, const ReadOperand& read) {
  const std::string_view name = ir::plain_name(node.op);
  const DType result = graph.values[static_cast<std::size_t>(node.results[0])].dtype;
  const DType type = is_comparison(name) ? meeting_type(graph, node) : compute_type(result);
  const Lowering lowering(graph, node, builder, read, type);
  return builder.cast(rules().at(name)(lowering), result);
}

}  // namespace lathe::passes
