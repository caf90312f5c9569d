#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include <ATen/core/Tensor.h>

#include "core/models/anima/dit.h"

// Euler sampling of the flow during training (spec 4.15): from noise at sigma 1 to data at sigma 0.
namespace lathe::train {

struct SamplerOptions {
  std::int64_t steps = 30;
  double scale = 7.5;  // of classifier-free guidance; up to 1: off
  double flow_shift = 3.0;
  at::ScalarType dtype = at::kFloat;  // P: of sigmas, times and latents between steps
};

// [steps + 1] in `dtype`, from 1 to 0: linear, then shift·s / (1 + (shift − 1)·s).
at::Tensor flow_sigmas(const SamplerOptions& options, at::Device device);

// Standard normal fp32 [1, 16, 1, height/8, width/8] from torch's CPU generator; `seed`: seeds every generator first,
// as the reference does. Sizes in pixels.
at::Tensor sampling_noise(std::int64_t height, std::int64_t width, std::optional<std::int64_t> seed);

// Velocity at x [1, 16, 1, h, w] in P and time t [1] in P. `negative`: for the negative prompt.
using Velocity = std::function<at::Tensor(const at::Tensor& x, const at::Tensor& t, bool negative)>;

// Latents [1, 16, 1, h, w] in P. The velocity is called once a step, twice (prompt, then negative prompt) with
// guidance. `after_step(done)` may throw to stop.
at::Tensor sample_flow(const SamplerOptions& options, const at::Tensor& noise, bool has_negative,
                       const Velocity& velocity, const std::function<void(std::int64_t)>& after_step = {});

// The velocity of a Dit under autocast in P. `positive` and `negative` [1, N, C] are outputs of its adapter.
Velocity dit_velocity(const models::anima::Dit& dit, at::Tensor positive, at::Tensor negative,
                      models::RunBlock run_block = models::run_eagerly);

}  // namespace lathe::train
