#include "core/train/optimizers/optimizer.h"

#include <ATen/ATen.h>

namespace lathe::train {

Optimizer::Optimizer(std::string class_name, std::string arguments, std::vector<ParameterGroup> groups)
    : groups_(std::move(groups)), class_name_(std::move(class_name)), arguments_(std::move(arguments)) {}

void Optimizer::zero_grad() {
  for (ParameterGroup& group : groups_) {
    for (at::Tensor& parameter : group.parameters) parameter.mutable_grad() = at::Tensor();
  }
}

std::vector<at::Tensor> Optimizer::parameters() const {
  std::vector<at::Tensor> result;
  for (const ParameterGroup& group : groups_)
    result.insert(result.end(), group.parameters.begin(), group.parameters.end());
  return result;
}

std::string Optimizer::metadata_name() const {
  return arguments_.empty() ? class_name_ : class_name_ + "(" + arguments_ + ")";
}

}  // namespace lathe::train
