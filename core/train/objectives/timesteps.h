#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include <ATen/core/Tensor.h>

// How much noise a training sample gets: spec 4.3 (timestep_sampling) and 4.5 (weighting_scheme). sigma = 1 is pure
// noise, sigma = 0 is data. P below is the dtype of the base weights.
namespace lathe::train {

enum class TimestepSampling { uniform, sigmoid, shift, flux_shift, sigma };
// `uniform` and `none` are one: every sample weighs 1. logit_normal and mode shape the draw of `sigma` sampling only.
enum class Weighting { uniform, sigma_sqrt, logit_normal, mode, cosmap };

// Error(settings) for a name that the reference does not know either.
TimestepSampling timestep_sampling(std::string_view name);
Weighting weighting_scheme(std::string_view name);

struct TimestepOptions {
  TimestepSampling sampling = TimestepSampling::sigmoid;
  Weighting weighting = Weighting::uniform;
  double sigmoid_scale = 1.0;
  double discrete_flow_shift = 1.0;
  double logit_mean = 0.0, logit_std = 1.0, mode_scale = 1.29;
  double ip_noise_gamma = 0.0;  // 0: off
  bool ip_noise_gamma_random_strength = false;
  at::ScalarType dtype = at::kFloat;  // P
};

// The random numbers of one micro-batch: fp32 [B], of the standard normal or of [0, 1). Only one of the two is read.
struct SigmaDraw {
  at::Tensor normal;
  at::Tensor uniform;
};

// Draws what `options` needs: from torch's CPU generator for `sigma` sampling, else from the device's.
SigmaDraw draw_sigma(const TimestepOptions& options, std::int64_t batch, at::Device device);

// Noise that is added to the noise of the model's input, never to the target (ip_noise_gamma).
struct InputPerturbation {
  at::Tensor noise;     // as the latents, in P
  at::Tensor strength;  // [1] in P, of [0, 1); undefined: full strength
};
std::optional<InputPerturbation> draw_perturbation(const TimestepOptions& options, const at::Tensor& latents);

struct Timesteps {
  at::Tensor sigma;       // [B]; fp32, in `sigma` sampling P
  at::Tensor timesteps;   // [B] in P, 0 … 1000
  at::Tensor model_time;  // [B] in P, timesteps / 1000 (both roundings are the reference's)
};

// `height` and `width`: of the latents; only flux_shift reads them.
Timesteps sample_timesteps(const TimestepOptions& options, const SigmaDraw& draw, std::int64_t height,
                           std::int64_t width);

// The model's input (1 − sigma)·latents + sigma·noise in P, [B, C, H, W].
at::Tensor add_noise(const TimestepOptions& options, const at::Tensor& latents, const at::Tensor& noise,
                     const at::Tensor& sigma, const std::optional<InputPerturbation>& perturbation);

// Factor of each sample's loss, [B], in the dtype of sigma (sigma_sqrt: fp32). Infinite where sigma_sqrt meets 0.
at::Tensor loss_weighting(Weighting scheme, const at::Tensor& sigma);

// [B] → [B, 1, 1, 1]
at::Tensor as_column(const at::Tensor& per_sample);

}  // namespace lathe::train
