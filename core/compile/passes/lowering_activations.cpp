#include <numbers>

#include "core/compile/passes/lowering_rules.h"

// Activations and their gradients, with the formulas of ATen's documentation.

namespace lathe::passes {

using ir::ExprOp;

namespace {

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

}  // namespace

const LoweringRules& activation_rules() {
  static const LoweringRules table = {
      {"elu", elu},
      {"elu_backward", elu_backward},
      {"gelu", gelu},
      {"gelu_backward", gelu_backward},
      {"sigmoid_backward", sigmoid_backward},
      {"silu", silu},
      {"silu_backward", silu_backward},
      {"softplus", softplus},
      {"softplus_backward", softplus_backward},
      {"tanh_backward", tanh_backward},
      {"threshold_backward", threshold_backward},
  };
  return table;
}

}  // namespace lathe::passes
