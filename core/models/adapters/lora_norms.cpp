#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/stack.h>

#include "core/models/adapters/lora.h"

// Max-norm regularisation (spec 3.8).
namespace lathe::models {

LoraNetwork::NormReport LoraNetwork::limit_norms(double limit) {
  const at::NoGradGuard no_grad;
  if (modules_.empty()) return {};
  std::vector<at::Tensor> ratios, norms;
  for (const LoraModule& module : modules_) {
    // Not module.scale: a loaded alpha counts here although the forward pass keeps its scale.
    const float scale = static_cast<float>(module.alpha) / static_cast<float>(module.rank);
    const at::Tensor size = (module.up.mm(module.down) * scale).norm();
    const at::Tensor clamped = size.clamp_min(limit / 2);
    const at::Tensor ratio = clamped.clamp_max(limit) / clamped;  // exactly 1 within the limit
    const at::Tensor factor = ratio.sqrt();
    module.up.mul_(factor);
    module.down.mul_(factor);
    ratios.push_back(ratio);
    norms.push_back(size * ratio);
  }
  // One transfer for all modules.
  const at::Tensor all_ratios = at::stack(ratios).cpu().to(at::kDouble),
                   all_norms = at::stack(norms).cpu().to(at::kDouble);
  return {.scaled = all_ratios.ne(1.0).sum().item<std::int64_t>(),
          .mean = all_norms.mean().item<double>(),
          .maximum = all_norms.max().item<double>()};
}

}  // namespace lathe::models
