#include "core/train/train_step.h"

#include <cmath>

#include <ATen/ATen.h>
#include <torch/csrc/autograd/autograd.h>

#include "core/train/gradients.h"
#include "core/train/precision.h"

namespace lathe::train {

void drop_caption(StepBatch& batch, std::int64_t index) {
  batch.text[index].zero_();
  batch.text_mask[index].zero_();
  for (const at::Tensor& row : {batch.t5_ids[index], batch.t5_mask[index]}) {
    row.zero_();
    row[0].fill_(1);
  }
}

StepDraws draw_step(const TimestepOptions& options, const at::Tensor& latents) {
  StepDraws draws;
  // Not randn_like: that would follow the memory layout, which differs between cached and just encoded latents.
  draws.noise = at::randn(latents.sizes(), latents.options());
  draws.sigma = draw_sigma(options, latents.size(0), latents.device());
  draws.perturbation = draw_perturbation(options, latents);
  return draws;
}

StepResult micro_step(const models::anima::Dit& dit, const StepOptions& options, const StepBatch& batch,
                      const StepDraws& draws, const models::RunBlock& run_block, const GradScaler* scaler) {
  const at::ScalarType dtype = options.timesteps.dtype;
  StepResult result;
  result.timesteps = sample_timesteps(options.timesteps, draws.sigma, batch.latents.size(2), batch.latents.size(3));
  models::anima::DitInputs inputs;
  inputs.x = add_noise(options.timesteps, batch.latents, draws.noise, result.timesteps.sigma, draws.perturbation);
  inputs.timesteps = result.timesteps.model_time;
  inputs.text = batch.text.to(dtype);
  inputs.text_mask = batch.text_mask;
  inputs.t5_ids = batch.t5_ids;
  inputs.t5_mask = batch.t5_mask;
  at::Tensor prediction;
  {
    const AutocastGuard autocast(batch.latents.device().type(), dtype);
    prediction = dit.forward(inputs, run_block).to(at::kFloat);
  }
  result.target = draws.noise - batch.latents;
  const at::Tensor loss =
      training_loss(options.loss, {prediction, result.target, result.timesteps, batch.alpha_mask, batch.loss_weights});
  result.prediction = prediction.detach();
  result.loss = loss.detach();
  if (options.skip_nonfinite && !std::isfinite(result.loss.item<double>())) return result;
  const at::Tensor divided = loss / options.accumulation;
  torch::autograd::backward({scaler != nullptr ? scaler->scale(divided) : divided});
  result.backward_done = true;
  return result;
}

OptimizerStep optimizer_step(Optimizer& optimizer, const std::vector<at::Tensor>& parameters, double max_grad_norm,
                             GradScaler* scaler) {
  OptimizerStep result;
  if (scaler != nullptr) scaler->unscale(parameters);
  if (max_grad_norm != 0.0) result.gradient_norm = clip_gradients(parameters, max_grad_norm);
  result.stepped = scaler == nullptr || !scaler->found_overflow();
  if (result.stepped) optimizer.step();
  if (scaler != nullptr) scaler->update();
  optimizer.zero_grad();
  return result;
}

}  // namespace lathe::train
