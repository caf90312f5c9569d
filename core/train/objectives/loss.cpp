#include "core/train/objectives/loss.h"

#include <cmath>

#include <ATen/ATen.h>

#include "core/base/error.h"
#include "core/base/format.h"

namespace lathe::train {

namespace {

LossType loss_type_of(std::string_view name) {
  if (name == "l2") return LossType::l2;
  if (name == "l1") return LossType::l1;
  if (name == "huber") return LossType::huber;
  if (name == "smooth_l1") return LossType::smooth_l1;
  throw Error(ErrorKind::settings, format("loss_type is '{}'; it can be l1, l2, huber or smooth_l1", name));
}

}  // namespace

LossOptions loss_options(std::string_view loss_type, std::string_view huber_schedule, double huber_c,
                         double huber_scale, Weighting weighting) {
  LossOptions options{loss_type_of(loss_type), HuberSchedule::constant, huber_c, huber_scale, weighting};
  if (huber_schedule == "exponential") options.huber_schedule = HuberSchedule::exponential;
  const bool needs_schedule = options.type == LossType::huber || options.type == LossType::smooth_l1;
  if (needs_schedule && huber_schedule != "constant" && huber_schedule != "exponential") {
    throw Error(ErrorKind::settings,
                format("huber_schedule is '{}'; with loss_type {} it must be constant or exponential", huber_schedule,
                       loss_type));
  }
  return options;
}

at::Tensor huber_threshold(const LossOptions& options, const at::Tensor& model_time) {
  if (options.type == LossType::l1 || options.type == LossType::l2) return {};
  if (options.huber_schedule == HuberSchedule::exponential) {
    const double alpha = -std::log(options.huber_c) / 1000;  // made for 0 … 1000, given 0 … 1: almost constant
    return at::exp(-alpha * model_time) * options.huber_scale;
  }
  return at::full(model_time.sizes(), options.huber_c * options.huber_scale, model_time.options().dtype(at::kFloat));
}

at::Tensor elementwise_loss(const LossOptions& options, const at::Tensor& prediction, const at::Tensor& target,
                            const at::Tensor& threshold) {
  const at::Tensor p = prediction.to(at::kFloat);
  const at::Tensor t = target.to(at::kFloat);
  switch (options.type) {
    case LossType::l2:
      return at::mse_loss(p, t, at::Reduction::None);
    case LossType::l1:
      return at::l1_loss(p, t, at::Reduction::None);
    default:
      break;
  }
  const at::Tensor c = as_column(threshold);
  const at::Tensor distance = at::sqrt(at::pow(p - t, 2) + at::pow(c, 2)) - c;
  return options.type == LossType::huber ? 2 * c * distance : 2 * distance;
}

at::Tensor mask_on_latents(const at::Tensor& mask, std::int64_t height, std::int64_t width) {
  return at::adaptive_avg_pool2d(mask.to(at::kFloat).unsqueeze(1), {height, width});
}

at::Tensor training_loss(const LossOptions& options, const LossInputs& inputs) {
  const at::Tensor threshold = huber_threshold(options, inputs.timesteps.model_time);
  at::Tensor loss = elementwise_loss(options, inputs.prediction, inputs.target, threshold);
  loss = loss * as_column(loss_weighting(options.weighting, inputs.timesteps.sigma));
  if (inputs.mask.defined()) loss = loss * mask_on_latents(inputs.mask, loss.size(2), loss.size(3));
  loss = loss.mean({1, 2, 3});
  if (inputs.loss_weights.defined()) loss = loss * inputs.loss_weights;
  return loss.mean();
}

}  // namespace lathe::train
