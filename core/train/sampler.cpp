#include "core/train/sampler.h"

#include <utility>

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>

#include "core/train/precision.h"
#include "core/train/random_state.h"

namespace lathe::train {

at::Tensor flow_sigmas(const SamplerOptions& options, at::Device device) {
  const at::Tensor s = at::linspace(1.0, 0.0, options.steps + 1, at::TensorOptions(options.dtype).device(device));
  const double shift = options.flow_shift;
  return shift == 1.0 ? s : (s * shift) / (1 + (shift - 1) * s);
}

at::Tensor sampling_noise(std::int64_t height, std::int64_t width, std::optional<std::int64_t> seed) {
  if (seed) seed_everything(static_cast<std::uint64_t>(*seed));
  return at::randn({1, 16, 1, height / 8, width / 8}, at::kFloat);
}

at::Tensor sample_flow(const SamplerOptions& options, const at::Tensor& noise, bool has_negative,
                       const Velocity& velocity, const std::function<void(std::int64_t)>& after_step) {
  const c10::NoGradGuard no_grad;
  const bool guided = options.scale > 1.0 && has_negative;
  const at::Tensor sigmas = flow_sigmas(options, noise.device());
  at::Tensor x = noise.to(options.dtype);
  for (std::int64_t i = 0; i < options.steps; ++i) {
    const at::Tensor sigma = sigmas[i];
    const at::Tensor t = sigma.unsqueeze(0);
    at::Tensor direction = velocity(x, t, false).to(at::kFloat);
    if (guided) {
      const at::Tensor away = velocity(x, t, true).to(at::kFloat);
      direction = away + options.scale * (direction - away);
    }
    // The step's length is a difference in P, the rest is fp32.
    x = (x + direction * (sigmas[i + 1] - sigma)).to(options.dtype);
    if (after_step) after_step(i + 1);
  }
  return x;
}

Velocity dit_velocity(const models::anima::Dit& dit, at::Tensor positive, at::Tensor negative,
                      models::RunBlock run_block) {
  return [&dit, positive = std::move(positive), negative = std::move(negative), run_block = std::move(run_block)](
             const at::Tensor& x, const at::Tensor& t, bool for_negative) {
    models::anima::DitInputs inputs;
    inputs.x = x.squeeze(2);
    inputs.timesteps = t;
    inputs.text = for_negative ? negative : positive;
    const AutocastGuard autocast(x.device().type(), dit.options().dtype);
    return dit.forward(inputs, run_block).unsqueeze(2);
  };
}

}  // namespace lathe::train
