#include "core/train/gradients.h"

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>

namespace lathe::train {

namespace {

std::vector<at::Tensor> gradients_of(const std::vector<at::Tensor>& parameters) {
  std::vector<at::Tensor> result;
  result.reserve(parameters.size());
  for (const at::Tensor& parameter : parameters) {
    if (parameter.grad().defined()) result.push_back(parameter.grad());
  }
  return result;
}

}  // namespace

at::Tensor gradient_norm(const std::vector<at::Tensor>& parameters) {
  const c10::NoGradGuard no_grad;
  const std::vector<at::Tensor> gradients = gradients_of(parameters);
  if (gradients.empty()) {
    return at::zeros({}, parameters.empty() ? at::TensorOptions(at::kFloat) : parameters.front().options());
  }
  // A norm of norms: the order of summation is then the reference's too.
  return at::linalg_vector_norm(at::stack(at::_foreach_norm(gradients)));
}

at::Tensor clip_gradients(const std::vector<at::Tensor>& parameters, double max_norm) {
  const c10::NoGradGuard no_grad;
  const at::Tensor norm = gradient_norm(parameters);
  const std::vector<at::Tensor> gradients = gradients_of(parameters);
  if (!gradients.empty()) at::_foreach_mul_(gradients, at::clamp_max((norm + 1e-6).reciprocal() * max_norm, 1.0));
  return norm;
}

}  // namespace lathe::train
