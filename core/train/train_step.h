#pragma once

#include <optional>
#include <vector>

#include <ATen/core/Tensor.h>

#include "core/models/anima/dit.h"
#include "core/train/grad_scaler.h"
#include "core/train/objectives/loss.h"
#include "core/train/objectives/timesteps.h"
#include "core/train/optimizers/optimizer.h"

// One micro-step and one optimizer step, as spec 4.2 orders them. The trainer adds data, schedule, saving, events.
namespace lathe::train {

// A micro-batch on the training device.
struct StepBatch {
  at::Tensor latents;       // [B, 16, h, w]; its dtype is that of the noise and the target
  at::Tensor text;          // [B, S, C]
  at::Tensor text_mask;     // [B, S]
  at::Tensor t5_ids;        // [B, N] int64
  at::Tensor t5_mask;       // [B, N]
  at::Tensor alpha_mask;    // [B, H, W] in 0 … 1, pixels; undefined: none
  at::Tensor loss_weights;  // [B]; undefined: all 1
};

// The caption of sample `index` is dropped: its text becomes 0, its T5 ids the end mark alone (spec 4.2, step 1). The
// batch's tensors are changed in place.
void drop_caption(StepBatch& batch, std::int64_t index);

// The random numbers of a micro-step. draw_step() draws them in the reference's order; tests and comparisons give them.
struct StepDraws {
  at::Tensor noise;  // as the latents
  SigmaDraw sigma;
  std::optional<InputPerturbation> perturbation;
};
StepDraws draw_step(const TimestepOptions& options, const at::Tensor& latents);

struct StepOptions {
  TimestepOptions timesteps;
  LossOptions loss;
  std::int64_t accumulation = 1;  // the loss is divided by it before the backward
  bool skip_nonfinite = false;    // no backward for a loss that is not finite (waits for the device)
};

struct StepResult {
  at::Tensor loss;             // fp32 [], undivided, on the device
  bool backward_done = false;  // false: the loss was not finite and skip_nonfinite is set
  Timesteps timesteps;
  at::Tensor prediction, target;  // [B, 16, h, w], without graph
};

// Forward under autocast in the Dit's dtype, loss outside it, backward: gradients are added to those that are there.
// `scaler`: for fp16, else null.
StepResult micro_step(const models::anima::Dit& dit, const StepOptions& options, const StepBatch& batch,
                      const StepDraws& draws, const models::RunBlock& run_block = models::run_eagerly,
                      const GradScaler* scaler = nullptr);

struct OptimizerStep {
  at::Tensor gradient_norm;  // fp32 [] on the device, before clipping; undefined with max_grad_norm 0
  bool stepped = true;       // false: fp16 gradients overflowed; the schedule must not advance then
};

// Ends an accumulation: unscale, clip by the norm over `parameters` (all of the network, also those that no group
// trains), step, set the optimizer's gradients to none. Parameters outside the optimizer keep their gradients and add
// to the norm, as in the reference.
OptimizerStep optimizer_step(Optimizer& optimizer, const std::vector<at::Tensor>& parameters, double max_grad_norm,
                             GradScaler* scaler = nullptr);

}  // namespace lathe::train
