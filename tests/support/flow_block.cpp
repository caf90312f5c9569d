#include "tests/support/flow_block.h"

#include <cmath>

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include "core/base/format.h"

namespace lathe::testing {

using at::indexing::Slice;

namespace {
constexpr double kBound = 1.0, kSmallest = 1e-3;  // half the box, and the least width, height and slope of a bin
}

CouplingStep::CouplingStep(const CouplingOptions& options) : options_(options) {
  const std::int64_t n = options.features, below = n * (n - 1) / 2, hidden = options.hidden;
  order_ = buffer(at::randperm(n));
  const at::Tensor lower = at::tril_indices(n, n, -1), upper = at::triu_indices(n, n, 1);
  lower_at_ = buffer(lower[0] * n + lower[1]);
  upper_at_ = buffer(upper[0] * n + upper[1]);
  unit_ = buffer(at::eye(n));
  turned_ = buffer(at::arange(0, n, 2));
  kept_ = buffer(at::arange(1, n, 2));
  bias_ = trained({n}, 0.1);
  lower_ = trained({below}, 0.1);
  upper_ = trained({below}, 0.1);
  diagonal_ = trained({n}, 0.1);
  first_weight_ = trained({hidden, kept_.numel() + options.context}, 0.2);
  first_bias_ = trained({hidden}, 0.1);
  for (std::int64_t i = 0; i < options.residual_blocks; ++i) {
    ResidualBlock block;
    for (Half& each : block.halves) each = half();
    block.gate_weight = trained({hidden, options.context}, 0.1);
    block.gate_bias = trained({hidden}, 0.1);
    blocks_.push_back(std::move(block));
  }
  last_weight_ = trained({turned_.numel() * (3 * options.bins - 1), hidden}, 0.2);
  last_bias_ = trained({turned_.numel() * (3 * options.bins - 1)}, 0.1);
}

at::Tensor CouplingStep::trained(at::IntArrayRef shape, double scale) {
  all_.push_back((at::randn(shape) * scale).requires_grad_(true));
  return all_.back();
}

at::Tensor CouplingStep::buffer(at::Tensor tensor) {
  all_.push_back(std::move(tensor));
  return all_.back();
}

CouplingStep::Half CouplingStep::half() {
  const std::int64_t hidden = options_.hidden;
  Half result;
  result.scale = trained({hidden}, 1.0);
  result.shift = trained({hidden}, 0.1);
  result.mean = buffer(at::zeros({hidden}));
  result.variance = buffer(at::ones({hidden}));
  result.count = buffer(at::zeros({}, at::kLong));
  result.weight = trained({hidden, hidden}, 0.1);
  result.bias = trained({hidden}, 0.1);
  return result;
}

std::string CouplingStep::structure() const {
  return format("coupling features={} context={} hidden={} bins={} blocks={} masked={} train={} dropout={}",
                options_.features, options_.context, options_.hidden, options_.bins, options_.residual_blocks,
                options_.masked, options_.train, options_.dropout);
}

at::Tensor CouplingStep::linear(const at::Tensor& x, at::Tensor& log_determinant) const {
  const std::int64_t n = options_.features;
  const at::Tensor flat = at::zeros({n * n}), diagonal = at::softplus(diagonal_) + kSmallest;
  const at::Tensor lower = flat.index_put({lower_at_}, lower_).view({n, n}) + unit_;
  const at::Tensor upper = flat.index_put({upper_at_}, upper_).view({n, n}) + at::diag(diagonal);
  log_determinant = at::log(diagonal).sum();
  return at::linear(at::linear(x.index({Slice(), order_}), upper), lower, bias_);
}

at::Tensor CouplingStep::spline_parameters(const at::Tensor& kept, const at::Tensor& context) const {
  at::Tensor r = at::linear(at::cat({kept, context}, 1), first_weight_, first_bias_);
  for (const ResidualBlock& block : blocks_) {
    at::Tensor t = r;
    for (const Half& each : block.halves) {
      if (options_.train) {
        const at::NoGradGuard no_gradient;
        each.count.add_(1);
      }
      t = at::batch_norm(t, each.scale, each.shift, each.mean, each.variance, options_.train, 0.1, 1e-3, false);
      t = at::elu(t);
      if (&each == &block.halves[1]) t = at::dropout(t, options_.dropout, options_.train);
      t = at::linear(t, each.weight, each.bias);
    }
    r = r + t * at::sigmoid(at::linear(context, block.gate_weight, block.gate_bias));
  }
  return at::linear(r, last_weight_, last_bias_).view({kept.size(0), -1, 3 * options_.bins - 1});
}

CouplingStep::Knots CouplingStep::knots(const at::Tensor& logits) const {
  const auto bins = static_cast<double>(options_.bins);
  const at::Tensor sizes = kSmallest + (1 - kSmallest * bins) * at::softmax(logits, -1);
  const at::Tensor inner = 2 * kBound * at::cumsum(sizes, -1).slice(-1, 0, options_.bins - 1) - kBound;
  const at::Tensor edges = at::constant_pad_nd(at::constant_pad_nd(inner, {1, 0}, -kBound), {0, 1}, kBound);
  return {edges, edges.slice(-1, 1) - edges.slice(-1, 0, options_.bins)};
}

CouplingStep::Mapped CouplingStep::spline(const at::Tensor& x, const at::Tensor& widths, const at::Tensor& heights,
                                          const at::Tensor& slopes) const {
  const Knots across = knots(widths), up = knots(heights);
  const at::Tensor d = kSmallest + at::softplus(at::constant_pad_nd(slopes, {1, 1}, 0.54));
  const at::Tensor passed = x.detach().unsqueeze(-1) >= across.edges.detach().slice(-1, 1, options_.bins);
  const at::Tensor bin = passed.sum(-1, /*keepdim=*/true);
  const auto of_bin = [&](const at::Tensor& t) { return t.gather(-1, bin).squeeze(-1); };

  const at::Tensor x0 = of_bin(across.edges.slice(-1, 0, options_.bins)), width = of_bin(across.widths);
  const at::Tensor y0 = of_bin(up.edges.slice(-1, 0, options_.bins)), height = of_bin(up.widths);
  const at::Tensor d0 = of_bin(d.slice(-1, 0, options_.bins)), d1 = of_bin(d.slice(-1, 1));
  const at::Tensor s = height / width, q = d0 + d1 - 2 * s, theta = (x - x0) / width, e = theta * (1 - theta);
  const at::Tensor y = y0 + height * (s * theta * theta + d0 * e) / (s + q * e);
  const at::Tensor rise = d1 * theta * theta + 2 * s * e + d0 * (1 - theta).pow(2);
  return {y, at::log(s * s * rise) - 2 * at::log(s + q * e)};
}

CouplingStep::Mapped CouplingStep::within_box(const at::Tensor& x, const at::Tensor& parameters) const {
  const auto parts = parameters.split_with_sizes({options_.bins, options_.bins, options_.bins - 1}, -1);
  const double scale = 1 / std::sqrt(static_cast<double>(options_.hidden));
  const at::Tensor widths = parts[0] * scale, heights = parts[1] * scale, slopes = parts[2];
  const at::Tensor inside = (x >= -kBound) & (x <= kBound);
  if (!options_.masked) {
    const Mapped mapped = spline(at::where(inside, x, x.clamp(-kBound, kBound)), widths, heights, slopes);
    return {at::where(inside, mapped.y, x),
            at::where(inside, mapped.log_derivative, at::zeros_like(mapped.log_derivative))};
  }
  Mapped result = {at::zeros_like(x), at::zeros_like(x)};
  const at::Tensor outside = inside.logical_not();
  result.y.index_put_({outside}, x.index({outside}));
  if (inside.any().item<bool>()) {
    const Mapped mapped =
        spline(x.index({inside}), widths.index({inside}), heights.index({inside}), slopes.index({inside}));
    result.y.index_put_({inside}, mapped.y);
    result.log_derivative.index_put_({inside}, mapped.log_derivative);
  }
  return result;
}

models::Tensors CouplingStep::forward(std::span<const at::Tensor> inputs) const {
  at::Tensor log_determinant;
  const at::Tensor x = linear(inputs[0], log_determinant);
  const at::Tensor kept = x.index({Slice(), kept_}), turned = x.index({Slice(), turned_});
  const Mapped mapped = within_box(turned, spline_parameters(kept, inputs[1]));
  at::Tensor y = at::empty_like(x);
  y.index_put_({Slice(), kept_}, kept);
  y.index_put_({Slice(), turned_}, mapped.y);
  return {y, mapped.log_derivative.sum(1) + log_determinant};
}

}  // namespace lathe::testing
