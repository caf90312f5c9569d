#include "core/models/common/linear.h"

#include <optional>

#include <ATen/ops/linear.h>

namespace lathe::models {

at::Tensor Linear::operator()(const at::Tensor& x) const {
  return adapter ? adapter->forward(*this, x) : base(x);
}

at::Tensor Linear::base(const at::Tensor& x) const {
  return at::linear(x, weight, bias.defined() ? std::optional<at::Tensor>(bias) : std::nullopt);
}

void Linear::collect(std::vector<at::Tensor>& parameters) const {
  parameters.push_back(weight);
  if (bias.defined()) parameters.push_back(bias);
  if (!adapter) return;
  for (const at::Tensor& parameter : adapter->parameters()) parameters.push_back(parameter);
}

}  // namespace lathe::models
