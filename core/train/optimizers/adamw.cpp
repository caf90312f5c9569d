#include "core/train/optimizers/adamw.h"

#include <algorithm>
#include <charconv>

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>

#include "core/base/error.h"
#include "core/base/format.h"

namespace lathe::train {

Adamw::Adamw(const AdamwOptions& options, std::string arguments, std::vector<ParameterGroup> groups)
    : Optimizer("torch.optim.adamw.AdamW", std::move(arguments), std::move(groups)),
      options_(options),
      moments_(parameters().size()) {}

const at::Tensor* Adamw::find(const Moments& moments, std::string_view what) {
  if (what == "step") return &moments.step;
  if (what == "exp_avg") return &moments.mean;
  if (what == "exp_avg_sq") return &moments.square;
  if (what == "max_exp_avg_sq") return &moments.max_square;
  return nullptr;
}

Adamw::Moments& Adamw::moments_of(std::size_t index, const at::Tensor& parameter) {
  Moments& moments = moments_[index];
  if (!moments.step.defined()) {
    moments.step = at::zeros({}, parameter.options().dtype(at::kFloat).requires_grad(false));
    moments.mean = at::zeros_like(parameter, at::MemoryFormat::Preserve).requires_grad_(false);
    moments.square = at::zeros_like(parameter, at::MemoryFormat::Preserve).requires_grad_(false);
    if (options_.amsgrad)
      moments.max_square = at::zeros_like(parameter, at::MemoryFormat::Preserve).requires_grad_(false);
  }
  return moments;
}

void Adamw::step() {
  const c10::NoGradGuard no_grad;
  std::size_t index = 0;
  for (const ParameterGroup& group : groups_) {
    std::vector<at::Tensor> parameters, gradients, means, squares, max_squares, steps;
    for (const at::Tensor& parameter : group.parameters) {
      const std::size_t position = index++;
      if (!parameter.grad().defined()) continue;
      const Moments& moments = moments_of(position, parameter);
      parameters.push_back(parameter);
      gradients.push_back(parameter.grad());
      means.push_back(moments.mean);
      squares.push_back(moments.square);
      steps.push_back(moments.step);
      if (options_.amsgrad) max_squares.push_back(moments.max_square);
    }
    if (parameters.empty()) continue;
    at::_foreach_add_(steps, 1);
    at::_fused_adamw_(parameters, gradients, means, squares, max_squares, steps, group.learning_rate, options_.beta1,
                      options_.beta2, options_.weight_decay, options_.eps, options_.amsgrad, options_.maximize);
  }
}

NamedTensors Adamw::state() const {
  NamedTensors result;
  for (std::size_t i = 0; i < moments_.size(); ++i) {
    const Moments& moments = moments_[i];
    if (!moments.step.defined()) continue;
    result.emplace_back(format("{}.step", i), moments.step);
    result.emplace_back(format("{}.exp_avg", i), moments.mean);
    result.emplace_back(format("{}.exp_avg_sq", i), moments.square);
    if (options_.amsgrad) result.emplace_back(format("{}.max_exp_avg_sq", i), moments.max_square);
  }
  return result;
}

void Adamw::load_state(const NamedTensors& state) {
  const c10::NoGradGuard no_grad;
  const std::vector<at::Tensor> all = parameters();
  std::fill(moments_.begin(), moments_.end(), Moments{});
  for (const auto& [name, tensor] : state) {
    const std::size_t dot = name.find('.');
    std::size_t index = all.size();
    std::from_chars(name.data(), name.data() + std::min(dot, name.size()), index);
    if (dot == std::string::npos || index >= all.size()) {
      throw Error(ErrorKind::checkpoint,
                  format("optimizer state '{}' belongs to none of the {} parameters", name, all.size()));
    }
    const at::Tensor* place = find(moments_of(index, all[index]), std::string_view(name).substr(dot + 1));
    if (place == nullptr || !place->defined()) {
      throw Error(ErrorKind::checkpoint, format("optimizer state '{}' is not one that AdamW keeps", name));
    }
    if (place->sizes() != tensor.sizes()) {
      throw Error(ErrorKind::checkpoint, format("optimizer state '{}' has shape {}, expected {}", name,
                                                tensor.sizes().vec(), place->sizes().vec()));
    }
    place->copy_(tensor);
  }
  const std::size_t needed = this->state().size();
  if (needed != state.size()) {
    throw Error(ErrorKind::checkpoint, format("the optimizer state has {} tensors, expected {}", state.size(), needed));
  }
}

}  // namespace lathe::train
