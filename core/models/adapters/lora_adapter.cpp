#include "core/models/adapters/lora_adapter.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/dropout.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/rand.h>

#include "core/base/format.h"

namespace lathe::models {

namespace {

// A product with 1 is exact, so it is left out.
at::Tensor times(const at::Tensor& x, double factor) {
  return factor == 1.0 ? x : x * factor;
}

// One draw a module call, on the CPU whatever the device. The tensor is compared, not the number: a compiler can hold
// a boolean against what it recorded.
bool leaves_module_out(double probability) {
  return at::rand({1}).lt(probability).item<bool>();
}

// Drops whole ranks of a sample: the mask [B, rank] is drawn on the device and broadcasts over all axes between.
at::Tensor drop_ranks(const at::Tensor& ranks, double probability) {
  const at::TensorOptions options = at::TensorOptions().dtype(at::kFloat).device(ranks.device());
  std::vector<std::int64_t> shape(static_cast<std::size_t>(ranks.dim()), 1);
  shape.front() = ranks.size(0);
  shape.back() = ranks.size(-1);
  return ranks * at::rand({ranks.size(0), ranks.size(-1)}, options).gt(probability).view(shape);
}

}  // namespace

at::Tensor LoraAdapter::forward(const Linear& linear, const at::Tensor& x) const {
  const at::Tensor base = linear.base(x);
  const LoraBehaviour& how = *behaviour_;
  if (how.training && how.module_dropout > 0.0 && leaves_module_out(how.module_dropout)) return base;

  at::Tensor ranks = at::linear(x, down);
  double scale = scale_;
  if (how.training && how.dropout > 0.0) ranks = at::dropout(ranks, how.dropout, /*train=*/true);
  if (how.training && how.rank_dropout > 0.0) {
    ranks = drop_ranks(ranks, how.rank_dropout);
    scale *= 1.0 / (1.0 - how.rank_dropout);
  }
  return base + times(times(at::linear(ranks, up), how.multiplier), scale);
}

std::string LoraAdapter::structure() const {
  std::string text = format("lora rank={} scale={} multiplier={}", down.size(0), scale_, behaviour_->multiplier);
  if (behaviour_->training) {
    text += format(" dropout={} rank_dropout={} module_dropout={}", behaviour_->dropout, behaviour_->rank_dropout,
                   behaviour_->module_dropout);
  }
  return text;
}

}  // namespace lathe::models
