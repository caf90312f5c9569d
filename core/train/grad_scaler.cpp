#include "core/train/grad_scaler.h"

#include <map>

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>

namespace lathe::train {

GradScaler::GradScaler(at::Device device, const Options& options)
    : options_(options),
      scale_(at::full({}, options.initial_scale, at::TensorOptions(at::kFloat).device(device))),
      good_steps_(at::zeros({}, at::TensorOptions(at::kInt).device(device))),
      found_inf_(at::zeros({}, at::TensorOptions(at::kFloat).device(device))) {}

at::Tensor GradScaler::scale(const at::Tensor& loss) const {
  return loss * scale_;
}

void GradScaler::unscale(const std::vector<at::Tensor>& parameters) {
  const c10::NoGradGuard no_grad;
  const at::Tensor inverse = scale_.to(at::kDouble).reciprocal().to(at::kFloat);
  found_inf_.zero_();
  std::map<at::ScalarType, std::vector<at::Tensor>> by_type;  // the kernel takes one type at a time
  for (const at::Tensor& parameter : parameters) {
    if (parameter.grad().defined()) by_type[parameter.grad().scalar_type()].push_back(parameter.grad());
  }
  for (const auto& [type, gradients] : by_type) {
    at::_amp_foreach_non_finite_check_and_unscale_(gradients, found_inf_, inverse);
  }
}

bool GradScaler::found_overflow() const {
  return found_inf_.item<float>() != 0.0F;
}

void GradScaler::update() {
  const c10::NoGradGuard no_grad;
  at::_amp_update_scale_(scale_, good_steps_, found_inf_, options_.growth, options_.backoff, options_.growth_interval);
}

double GradScaler::current_scale() const {
  return scale_.item<float>();
}

GradScaler::State GradScaler::state() const {
  return {current_scale(), good_steps_.item<std::int32_t>()};
}

void GradScaler::set_state(const State& state) {
  scale_.fill_(state.scale);
  good_steps_.fill_(state.good_steps);
}

}  // namespace lathe::train
