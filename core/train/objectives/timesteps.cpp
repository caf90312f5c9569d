#include "core/train/objectives/timesteps.h"

#include <cmath>
#include <numbers>

#include <ATen/ATen.h>

#include "core/base/error.h"
#include "core/base/format.h"

namespace lathe::train {

namespace {

// In this file number / tensor is written tensor.reciprocal() * number, as Python's torch computes it: the quotient
// rounds differently, and bf16 results are compared for equality.
constexpr std::int64_t kTrainTimesteps = 1000;

bool needs_normal(const TimestepOptions& options) {
  switch (options.sampling) {
    case TimestepSampling::uniform:
      return false;
    case TimestepSampling::sigma:
      return options.weighting == Weighting::logit_normal;
    default:
      return true;
  }
}

// flux_shift moves sigma up with the number of image tokens: mu runs linearly from 0.5 at 256 to 1.15 at 4096.
double flux_mu(std::int64_t height, std::int64_t width) {
  const double slope = (1.15 - 0.5) / (4096 - 256);
  const double offset = 0.5 - slope * 256;
  return slope * static_cast<double>((height / 2) * (width / 2)) + offset;
}

// Where on the table of 1000 noise levels each sample lies, from the density of the weighting scheme.
at::Tensor table_positions(const TimestepOptions& options, const SigmaDraw& draw) {
  switch (options.weighting) {
    case Weighting::logit_normal:
      return at::sigmoid(draw.normal * options.logit_std + options.logit_mean);
    case Weighting::mode: {
      const at::Tensor& r = draw.uniform;
      return 1 - r - options.mode_scale * (at::pow(at::cos(std::numbers::pi * r / 2), 2) - 1 + r);
    }
    default:
      return draw.uniform;
  }
}

Timesteps from_table(const TimestepOptions& options, const SigmaDraw& draw) {
  const double shift = options.discrete_flow_shift;
  const at::Tensor base = at::arange(kTrainTimesteps, 0, -1, at::kFloat) / kTrainTimesteps;
  const at::Tensor levels = shift * base / (1 + (shift - 1) * base);
  // u = 1 would read past the table (the reference fails there); `mode` reaches it when r = 0.
  const at::Tensor index =
      (table_positions(options, draw).cpu() * kTrainTimesteps).to(at::kLong).clamp(0, kTrainTimesteps - 1);
  const at::Device device = draw.normal.defined() ? draw.normal.device() : draw.uniform.device();
  const at::Tensor level = levels.index_select(0, index).to(device);
  Timesteps result;
  result.sigma = level.to(options.dtype);
  result.timesteps = (level * kTrainTimesteps).to(options.dtype);
  return result;
}

at::Tensor continuous_sigma(const TimestepOptions& options, const SigmaDraw& draw, std::int64_t height,
                            std::int64_t width) {
  if (options.sampling == TimestepSampling::uniform) return draw.uniform;
  const at::Tensor q = at::sigmoid(draw.normal * options.sigmoid_scale);
  if (options.sampling == TimestepSampling::shift) {
    const double shift = options.discrete_flow_shift;
    return (q * shift) / (1 + (shift - 1) * q);
  }
  if (options.sampling == TimestepSampling::flux_shift) {
    const double strength = std::exp(flux_mu(height, width));
    return (strength + (q.reciprocal() - 1)).reciprocal() * strength;
  }
  return q;
}

}  // namespace

at::Tensor as_column(const at::Tensor& per_sample) {
  return per_sample.view({-1, 1, 1, 1});
}

TimestepSampling timestep_sampling(std::string_view name) {
  if (name == "uniform") return TimestepSampling::uniform;
  if (name == "sigmoid") return TimestepSampling::sigmoid;
  if (name == "shift") return TimestepSampling::shift;
  if (name == "flux_shift") return TimestepSampling::flux_shift;
  if (name == "sigma") return TimestepSampling::sigma;
  throw Error(ErrorKind::settings,
              format("timestep_sampling is '{}'; it can be sigma, uniform, sigmoid, shift or flux_shift", name));
}

Weighting weighting_scheme(std::string_view name) {
  if (name == "uniform" || name == "none") return Weighting::uniform;
  if (name == "sigma_sqrt") return Weighting::sigma_sqrt;
  if (name == "logit_normal") return Weighting::logit_normal;
  if (name == "mode") return Weighting::mode;
  if (name == "cosmap") return Weighting::cosmap;
  throw Error(
      ErrorKind::settings,
      format("weighting_scheme is '{}'; it can be sigma_sqrt, logit_normal, mode, cosmap, none or uniform", name));
}

SigmaDraw draw_sigma(const TimestepOptions& options, std::int64_t batch, at::Device device) {
  const at::Device source = options.sampling == TimestepSampling::sigma ? at::Device(at::kCPU) : device;
  const at::TensorOptions fp32 = at::TensorOptions(at::kFloat).device(source);
  if (needs_normal(options)) return {.normal = at::randn({batch}, fp32).to(device)};
  return {.uniform = at::rand({batch}, fp32).to(device)};
}

std::optional<InputPerturbation> draw_perturbation(const TimestepOptions& options, const at::Tensor& latents) {
  if (options.ip_noise_gamma == 0.0) return std::nullopt;
  const at::TensorOptions in_p = latents.options().dtype(options.dtype);
  InputPerturbation result;
  result.noise = at::randn(latents.sizes(), in_p);
  if (options.ip_noise_gamma_random_strength) result.strength = at::rand({1}, in_p);
  return result;
}

Timesteps sample_timesteps(const TimestepOptions& options, const SigmaDraw& draw, std::int64_t height,
                           std::int64_t width) {
  Timesteps result;
  if (options.sampling == TimestepSampling::sigma) {
    result = from_table(options, draw);
  } else {
    result.sigma = continuous_sigma(options, draw, height, width);
    result.timesteps = (result.sigma * kTrainTimesteps).to(options.dtype);
  }
  result.model_time = result.timesteps / kTrainTimesteps;
  return result;
}

at::Tensor add_noise(const TimestepOptions& options, const at::Tensor& latents, const at::Tensor& noise,
                     const at::Tensor& sigma, const std::optional<InputPerturbation>& perturbation) {
  const at::Tensor s = as_column(sigma);
  at::Tensor disturbed = noise;
  if (perturbation) {
    const at::Tensor& strength = perturbation->strength;
    disturbed = strength.defined() ? noise + strength * options.ip_noise_gamma * perturbation->noise
                                   : noise + options.ip_noise_gamma * perturbation->noise;
  }
  return ((1 - s) * latents + s * disturbed).to(options.dtype);
}

at::Tensor loss_weighting(Weighting scheme, const at::Tensor& sigma) {
  switch (scheme) {
    case Weighting::sigma_sqrt:
      return at::pow(sigma, -2.0).to(at::kFloat);
    case Weighting::cosmap: {
      const at::Tensor bottom = 1 - 2 * sigma + 2 * at::pow(sigma, 2);
      return (std::numbers::pi * bottom).reciprocal() * 2;
    }
    default:
      return at::ones_like(sigma);
  }
}

}  // namespace lathe::train
