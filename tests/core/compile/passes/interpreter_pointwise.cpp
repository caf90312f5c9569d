#include <cmath>

#include "core/compile/ir/operands.h"
#include "tests/core/compile/passes/interpreter_ops.h"

namespace lathe::testing {

namespace {

using Numbers = std::vector<double>;

// One result, each element from the elements of the first `count` operands (tensors or numbers) at its place.
Rule elementwise(std::size_t count, std::function<double(const Numbers&, const Call&)> function) {
  return [count, function = std::move(function)](const Call& call) {
    StridedArray result = call.result();
    for_each_index(result.sizes, [&](const Index& index) {
      Numbers numbers;
      for (std::size_t i = 0; i < count; ++i) {
        numbers.push_back(call.has(i) ? call.in(i).get(broadcast_index(index, call.in(i).sizes)) : call.number(i));
      }
      result.set(index, function(numbers, call));
    });
    call.give(std::move(result));
  };
}

Rule one(double (*function)(double)) {
  return elementwise(1, [function](const Numbers& x, const Call&) { return function(x[0]); });
}

Rule compare(bool (*function)(double, double)) {
  return elementwise(2, [function](const Numbers& x, const Call&) { return function(x[0], x[1]) ? 1.0 : 0.0; });
}

double sigmoid(double x) {
  return 1.0 / (1.0 + std::exp(-x));
}

double gelu(double x, bool by_tanh) {
  if (by_tanh) return 0.5 * x * (1.0 + std::tanh(std::sqrt(2.0 / M_PI) * (x + 0.044715 * x * x * x)));
  return 0.5 * x * (1.0 + std::erf(x / std::sqrt(2.0)));
}

// Central difference: independent of the formula under test.
double slope(const std::function<double(double)>& function, double x) {
  constexpr double kStep = 1e-5;
  return (function(x + kStep) - function(x - kStep)) / (2.0 * kStep);
}

double elu(double x, double alpha, double scale, double input_scale) {
  return x > 0 ? x * scale : std::expm1(x * input_scale) * alpha * scale;
}

double elu_backward(const Numbers& x, const Call& call) {
  const double alpha = call.number(1, 1.0), scale = call.number(2, 1.0), input_scale = call.number(3, 1.0);
  const double at = x[5];
  if (ir::flag_at(call.node, 4)) return x[0] * (at <= 0 ? input_scale * (at + alpha * scale) : scale);
  return x[0] * (at <= 0 ? input_scale * alpha * scale * std::exp(at * input_scale) : scale);
}

double lerp(const Numbers& x, const Call&) {
  return x[0] + x[2] * (x[1] - x[0]);
}

double clamped(const Numbers& x, const Call& call) {
  double y = x[0];
  const bool low = call.has(1) || ir::number_at(call.node, 1), high = call.has(2) || ir::number_at(call.node, 2);
  if (low) y = std::isnan(y) ? y : std::max(y, x[1]);
  if (high) y = std::isnan(y) ? y : std::min(y, x[2]);
  return y;
}

Rules arithmetic() {
  const auto alpha = [](const Call& call) { return call.number(2, 1.0); };
  return {
      {"add", elementwise(2, [=](const Numbers& x, const Call& c) { return x[0] + alpha(c) * x[1]; })},
      {"sub", elementwise(2, [=](const Numbers& x, const Call& c) { return x[0] - alpha(c) * x[1]; })},
      {"rsub", elementwise(2, [=](const Numbers& x, const Call& c) { return x[1] - alpha(c) * x[0]; })},
      {"mul", elementwise(2, [](const Numbers& x, const Call&) { return x[0] * x[1]; })},
      {"div", elementwise(2, [](const Numbers& x, const Call&) { return x[0] / x[1]; })},
      {"pow", elementwise(2, [](const Numbers& x, const Call&) { return std::pow(x[0], x[1]); })},
      {"neg", one([](double x) { return -x; })},
      {"abs", one([](double x) { return std::abs(x); })},
      {"maximum", elementwise(2, [](const Numbers& x, const Call&) { return std::max(x[0], x[1]); })},
      {"minimum", elementwise(2, [](const Numbers& x, const Call&) { return std::min(x[0], x[1]); })},
      {"clamp", elementwise(3, clamped)},
      {"clamp_min", elementwise(2, clamped)},
      {"lerp", elementwise(3, lerp)},
      {"addcmul", elementwise(3, [](const Numbers& x, const Call& c) { return x[0] + c.number(3, 1) * x[1] * x[2]; })},
      {"addcdiv", elementwise(3, [](const Numbers& x, const Call& c) { return x[0] + c.number(3, 1) * x[1] / x[2]; })},
      {"_to_copy", one([](double x) { return x; })},
      {"clone", one([](double x) { return x; })},
      {"fill", elementwise(2, [](const Numbers& x, const Call&) { return x[1]; })},
  };
}

Rules functions() {
  return {
      {"sqrt", one(std::sqrt)},
      {"rsqrt", one([](double x) { return 1.0 / std::sqrt(x); })},
      {"reciprocal", one([](double x) { return 1.0 / x; })},
      {"exp", one(std::exp)},
      {"expm1", one(std::expm1)},
      {"log", one(std::log)},
      {"log1p", one(std::log1p)},
      {"sin", one(std::sin)},
      {"cos", one(std::cos)},
      {"tanh", one(std::tanh)},
      {"erf", one(std::erf)},
      {"floor", one(std::floor)},
      {"ceil", one(std::ceil)},
      {"round", one(std::nearbyint)},
      {"sigmoid", one(sigmoid)},
      {"relu", one([](double x) { return x > 0 ? x : 0; })},
      {"silu", one([](double x) { return x * sigmoid(x); })},
      {"gelu",
       elementwise(1, [](const Numbers& x, const Call& c) { return gelu(x[0], ir::text_at(c.node, 1) == "tanh"); })},
      {"elu", elementwise(1, [](const Numbers& x,
                                const Call& c) { return elu(x[0], c.number(1, 1), c.number(2, 1), c.number(3, 1)); })},
      {"softplus", elementwise(1,
                               [](const Numbers& x, const Call& c) {
                                 const double beta = c.number(1, 1), threshold = c.number(2, 20);
                                 return x[0] * beta > threshold ? x[0] : std::log1p(std::exp(x[0] * beta)) / beta;
                               })},
  };
}

Rules gradients() {
  return {
      {"gelu_backward", elementwise(2,
                                    [](const Numbers& x, const Call& c) {
                                      const bool by_tanh = ir::text_at(c.node, 2) == "tanh";
                                      return x[0] * slope([by_tanh](double at) { return gelu(at, by_tanh); }, x[1]);
                                    })},
      {"silu_backward",
       elementwise(2, [](const Numbers& x,
                         const Call&) { return x[0] * slope([](double at) { return at * sigmoid(at); }, x[1]); })},
      {"elu_backward", elementwise(6, elu_backward)},
      {"softplus_backward", elementwise(2,
                                        [](const Numbers& x, const Call& c) {
                                          const double beta = c.number(2, 1), threshold = c.number(3, 20);
                                          return x[1] * beta > threshold ? x[0] : x[0] * sigmoid(x[1] * beta);
                                        })},
      {"sigmoid_backward", elementwise(2, [](const Numbers& x, const Call&) { return x[0] * x[1] * (1 - x[1]); })},
      {"tanh_backward", elementwise(2, [](const Numbers& x, const Call&) { return x[0] * (1 - x[1] * x[1]); })},
      {"threshold_backward",
       elementwise(2, [](const Numbers& x, const Call& c) { return x[1] <= c.number(2) ? 0 : x[0]; })},
      {"mse_loss_backward", elementwise(3,
                                        [](const Numbers& x, const Call& c) {
                                          const double count =
                                              c.integer(3, 1) == 1 ? static_cast<double>(c.in(1).count()) : 1.0;
                                          return 2.0 * (x[1] - x[2]) * x[0] / count;
                                        })},
  };
}

Rules conditions() {
  return {
      {"eq", compare([](double a, double b) { return a == b; })},
      {"ne", compare([](double a, double b) { return a != b; })},
      {"lt", compare([](double a, double b) { return a < b; })},
      {"le", compare([](double a, double b) { return a <= b; })},
      {"gt", compare([](double a, double b) { return a > b; })},
      {"ge", compare([](double a, double b) { return a >= b; })},
      {"logical_and", compare([](double a, double b) { return a != 0 && b != 0; })},
      {"bitwise_and", compare([](double a, double b) { return a != 0 && b != 0; })},
      {"logical_or", compare([](double a, double b) { return a != 0 || b != 0; })},
      {"logical_not", one([](double x) { return x == 0 ? 1.0 : 0.0; })},
      {"where", elementwise(3, [](const Numbers& x, const Call&) { return x[0] != 0 ? x[1] : x[2]; })},
      {"masked_fill", elementwise(3, [](const Numbers& x, const Call&) { return x[1] != 0 ? x[2] : x[0]; })},
  };
}

}  // namespace

const Rules& pointwise_rules() {
  static const Rules rules = [] {
    Rules all = arithmetic();
    for (const Rules& more : {functions(), gradients(), conditions()}) all.insert(more.begin(), more.end());
    return all;
  }();
  return rules;
}

}  // namespace lathe::testing
