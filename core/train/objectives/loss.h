#pragma once

#include <optional>
#include <string_view>

#include <ATen/core/Tensor.h>

#include "core/train/objectives/timesteps.h"

// The loss of spec 4.5. Everything here runs in fp32, outside autocast.
namespace lathe::train {

enum class LossType { l2, l1, huber, smooth_l1 };
enum class HuberSchedule { constant, exponential };

struct LossOptions {
  LossType type = LossType::l2;
  HuberSchedule huber_schedule = HuberSchedule::constant;  // read by huber and smooth_l1 only
  double huber_c = 0.1, huber_scale = 1.0;
  Weighting weighting = Weighting::uniform;
};

// Error(settings) for unknown names, and for huber or smooth_l1 with the reference's default schedule `snr`, which has
// no meaning for a flow model (the reference fails at its first step).
LossOptions loss_options(std::string_view loss_type, std::string_view huber_schedule, double huber_c,
                         double huber_scale, Weighting weighting);

// Where the loss turns from quadratic to linear, [B]; undefined for l1 and l2. `model_time` [B] in P; the exponential
// schedule is evaluated in P.
at::Tensor huber_threshold(const LossOptions& options, const at::Tensor& model_time);

// Loss of each element, fp32, the shape of `prediction`. `threshold` as huber_threshold() gives it.
at::Tensor elementwise_loss(const LossOptions& options, const at::Tensor& prediction, const at::Tensor& target,
                            const at::Tensor& threshold);

// [B, H, W] (pixels, 0 … 1) → fp32 [B, 1, height, width] by area averaging.
at::Tensor mask_on_latents(const at::Tensor& mask, std::int64_t height, std::int64_t width);

struct LossInputs {
  at::Tensor prediction, target;  // [B, C, H, W]
  Timesteps timesteps;
  at::Tensor mask;          // [B, H, W] pixels; undefined: none
  at::Tensor loss_weights;  // [B]: 1, or prior_loss_weight for regularisation images; undefined: all 1
};

// The micro-batch's loss, a scalar: weighted, masked (not normalised by the mask's area), averaged.
at::Tensor training_loss(const LossOptions& options, const LossInputs& inputs);

}  // namespace lathe::train
