#pragma once

#include <vector>

#include <ATen/core/Tensor.h>

namespace lathe::train {

// Global L2 norm of the gradients of `parameters` (those that have one), a scalar on their device; no transfer to the
// host. 0 where there is no gradient.
at::Tensor gradient_norm(const std::vector<at::Tensor>& parameters);

// Multiplies the gradients by min(1, max_norm / (norm + 1e-6)), as torch's clip_grad_norm_, and returns the norm
// before. A norm that is not finite makes every gradient not finite, as there.
at::Tensor clip_gradients(const std::vector<at::Tensor>& parameters, double max_norm);

}  // namespace lathe::train
