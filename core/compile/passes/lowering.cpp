#include "core/compile/passes/lowering.h"

#include <algorithm>
#include <array>
#include <numbers>
#include <unordered_map>

#include "core/compile/ir/operands.h"
#include "core/compile/ir/ops.h"
#include "core/compile/ir/shape.h"
#include "core/compile/passes/rewriter.h"

namespace lathe::passes {

using ir::DType;
using ir::ExprOp;
using ir::Node;

namespace {

// One node being lowered; `type` is what its arithmetic runs in.
class Lowering {
 public:
  Lowering(const ir::Graph& graph, const Node& node, ExprBuilder& builder, const ReadOperand& read, DType computed)
      : type(computed), graph_(graph), node_(node), builder_(builder), read_(read) {}

  const DType type;

  const Node& node() const { return node_; }
  DType result_type() const { return graph_.values[static_cast<std::size_t>(node_.results[0])].dtype; }
  const ir::Value& operand(std::size_t position) const {
    return graph_.values[static_cast<std::size_t>(ir::tensor_at(node_, position))];
  }
  bool given(std::size_t position) const {
    return ir::tensor_at(node_, position) >= 0 || ir::size_at(node_, position) || ir::number_at(node_, position);
  }
  double number(std::size_t position, double otherwise) const {
    return ir::number_at(node_, position).value_or(otherwise);
  }

  // The operand as a number of `type`.
  ExprId x(std::size_t position) const { return builder_.cast(raw(position), type); }
  // As it is.
  ExprId raw(std::size_t position) const {
    if (const ir::ValueId id = ir::tensor_at(node_, position); id >= 0) return read_(id);
    if (const auto size = ir::size_at(node_, position)) return builder_.size(*size, type);
    return builder_.constant(number(position, 0.0), type);
  }
  ExprId condition(std::size_t position) const { return builder_.cast(raw(position), DType::boolean); }

  ExprId c(double number) const { return builder_.constant(number, type); }
  ExprId op(ExprOp op, std::vector<ExprId> arguments) const { return builder_.op(op, std::move(arguments), type); }
  ExprId add(ExprId a, ExprId b) const { return op(ExprOp::add, {a, b}); }
  ExprId sub(ExprId a, ExprId b) const { return op(ExprOp::sub, {a, b}); }
  ExprId mul(ExprId a, ExprId b) const { return op(ExprOp::mul, {a, b}); }
  ExprId div(ExprId a, ExprId b) const { return op(ExprOp::div, {a, b}); }
  ExprId test(ExprOp op, ExprId a, ExprId b) const { return builder_.op(op, {a, b}, DType::boolean); }
  ExprId select(ExprId condition, ExprId then, ExprId otherwise) const {
    return op(ExprOp::select, {condition, then, otherwise});
  }

  // For operators whose result is one of the numbers they are given, or its negative: where those are of the half type
  // of the result, so is the result, and nothing is rounded.
  ExprId exact(ExprOp op, std::vector<ExprId> arguments, std::size_t first = 0) const {
    bool half = is_half(result_type());
    for (std::size_t i = first; half && i < arguments.size(); ++i) {
      if (builder_.at(arguments[i]).op == ExprOp::constant) arguments[i] = builder_.cast(arguments[i], result_type());
      half = builder_.at(arguments[i]).dtype == result_type();
    }
    return builder_.op(op, std::move(arguments), half ? result_type() : type);
  }

 private:
  const ir::Graph& graph_;
  const Node& node_;
  ExprBuilder& builder_;
  const ReadOperand& read_;
};

using Rule = ExprId (*)(const Lowering&);
using Rules = std::unordered_map<std::string_view, Rule>;

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

// --- activations and their gradients ---------------------------------------------------------------------------------

constexpr double kHalfRoot = std::numbers::sqrt2 / 2.0;                            // 1/√2
constexpr double kRootTwoOverPi = std::numbers::inv_sqrtpi * std::numbers::sqrt2;  // √(2/π)
constexpr double kCubic = 0.044715;                                                // Hendrycks, Gimpel 2016

bool by_tanh(const Lowering& l, std::size_t position) {
  return ir::text_at(l.node(), position) == "tanh";
}

// tanh(√(2/π) (x + 0.044715 x³))
ExprId gelu_tanh(const Lowering& l, ExprId x) {
  const ExprId cube = l.mul(l.mul(x, x), x);
  return l.op(ExprOp::tanh, {l.mul(l.c(kRootTwoOverPi), l.add(x, l.mul(l.c(kCubic), cube)))});
}

ExprId gelu(const Lowering& l) {
  const ExprId x = l.x(0);
  const ExprId inner = by_tanh(l, 1) ? gelu_tanh(l, x) : l.op(ExprOp::erf, {l.mul(x, l.c(kHalfRoot))});
  return l.mul(l.mul(l.c(0.5), x), l.add(l.c(1.0), inner));
}

ExprId gelu_backward(const Lowering& l) {
  const ExprId g = l.x(0), x = l.x(1);
  if (!by_tanh(l, 2)) {  // Φ(x) + x φ(x)
    const ExprId erf = l.op(ExprOp::erf, {l.mul(x, l.c(kHalfRoot))});
    const ExprId share = l.mul(l.c(0.5), l.add(l.c(1.0), erf));
    const ExprId density = l.mul(l.c(kRootTwoOverPi / 2.0), l.op(ExprOp::exp, {l.mul(l.mul(x, x), l.c(-0.5))}));
    return l.mul(g, l.add(share, l.mul(x, density)));
  }
  const ExprId t = gelu_tanh(l, x), square = l.mul(x, x);
  const ExprId inner = l.mul(l.c(kRootTwoOverPi), l.add(l.c(1.0), l.mul(l.c(3.0 * kCubic), square)));
  const ExprId left = l.mul(l.c(0.5), l.add(l.c(1.0), t));
  const ExprId right = l.mul(l.mul(l.mul(l.c(0.5), x), l.sub(l.c(1.0), l.mul(t, t))), inner);
  return l.mul(g, l.add(left, right));
}

ExprId silu(const Lowering& l) {
  const ExprId x = l.x(0);
  return l.mul(x, l.op(ExprOp::sigmoid, {x}));
}

ExprId silu_backward(const Lowering& l) {
  const ExprId x = l.x(1), s = l.op(ExprOp::sigmoid, {x});
  return l.mul(l.mul(l.x(0), s), l.add(l.c(1.0), l.mul(x, l.sub(l.c(1.0), s))));
}

ExprId elu(const Lowering& l) {
  const double alpha = l.number(1, 1.0), scale = l.number(2, 1.0), input_scale = l.number(3, 1.0);
  const ExprId x = l.x(0), bent = l.op(ExprOp::expm1, {l.mul(x, l.c(input_scale))});
  return l.select(l.test(ExprOp::greater, x, l.c(0.0)), l.mul(x, l.c(scale)), l.mul(bent, l.c(alpha * scale)));
}

ExprId elu_backward(const Lowering& l) {
  const double alpha = l.number(1, 1.0), scale = l.number(2, 1.0), input_scale = l.number(3, 1.0);
  const ExprId g = l.x(0), x = l.x(5);
  const ExprId bent = ir::flag_at(l.node(), 4)
                          ? l.mul(l.c(input_scale), l.add(x, l.c(alpha * scale)))
                          : l.mul(l.c(input_scale * alpha * scale), l.op(ExprOp::exp, {l.mul(x, l.c(input_scale))}));
  return l.select(l.test(ExprOp::less_equal, x, l.c(0.0)), l.mul(g, bent), l.mul(g, l.c(scale)));
}

ExprId softplus(const Lowering& l) {
  const ExprId x = l.x(0), z = l.mul(x, l.c(l.number(1, 1.0)));
  const ExprId soft = l.div(l.op(ExprOp::log1p, {l.op(ExprOp::exp, {z})}), l.c(l.number(1, 1.0)));
  return l.select(l.test(ExprOp::greater, z, l.c(l.number(2, 20.0))), x, soft);
}

ExprId softplus_backward(const Lowering& l) {
  const ExprId g = l.x(0), z = l.mul(l.x(1), l.c(l.number(2, 1.0)));
  return l.select(l.test(ExprOp::greater, z, l.c(l.number(3, 20.0))), g, l.mul(g, l.op(ExprOp::sigmoid, {z})));
}

ExprId sigmoid_backward(const Lowering& l) {
  const ExprId y = l.x(1);
  return l.mul(l.x(0), l.mul(l.sub(l.c(1.0), y), y));
}

ExprId tanh_backward(const Lowering& l) {
  const ExprId y = l.x(1);
  return l.mul(l.x(0), l.sub(l.c(1.0), l.mul(y, y)));
}

ExprId threshold_backward(const Lowering& l) {
  return l.exact(ExprOp::select, {l.test(ExprOp::less_equal, l.x(1), l.c(l.number(2, 0.0))), l.c(0.0), l.x(0)}, 1);
}

const Rules& rules() {
  static const Rules table = {
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
      {"elu", elu},
      {"elu_backward", elu_backward},
      {"eq", compare<ExprOp::equal>},
      {"erf", unary<ExprOp::erf>},
      {"exp", unary<ExprOp::exp>},
      {"expm1", unary<ExprOp::expm1>},
      {"fill", [](const Lowering& l) { return l.x(1); }},
      {"floor", unary<ExprOp::floor>},
      {"ge", compare<ExprOp::greater_equal>},
      {"gelu", gelu},
      {"gelu_backward", gelu_backward},
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
      {"sigmoid_backward", sigmoid_backward},
      {"silu", silu},
      {"silu_backward", silu_backward},
      {"sin", unary<ExprOp::sin>},
      {"softplus", softplus},
      {"softplus_backward", softplus_backward},
      {"sqrt", unary<ExprOp::sqrt>},
      {"sub", [](const Lowering& l) { return l.sub(l.x(0), scaled(l, 1)); }},
      {"tanh", unary<ExprOp::tanh>},
      {"tanh_backward", tanh_backward},
      {"threshold_backward", threshold_backward},
      {"where", where},
      {"_to_copy", same},
  };
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
