#pragma once

#include <cstdint>
#include <vector>

#include "core/config/settings.h"
#include "core/dataset/manifest.h"
#include "core/plan/forecast.h"

namespace lathe::plan {

// Latents of all images, in the reference's .npz layout: fp32 [16, H/8, W/8], twice with flip_aug, and fp32 [H, W] with
// alpha_mask.
CacheForecast latent_cache_forecast(const dataset::Manifest& manifest, const config::Settings& settings);

// Text outputs: fp32 [qwen3_max_token_length, text_width], the masks and ids. `text_width` 0: taken as Qwen3-0.6B's.
CacheForecast text_cache_forecast(const dataset::Manifest& manifest, const config::Settings& settings,
                                  std::int64_t text_width);

// The most that adapters (each `adapter_bytes`) and states (each `state_bytes`) take at one time: a new one is written
// before an old one goes.
std::uint64_t saved_bytes(const std::vector<Save>& saves, std::uint64_t adapter_bytes, std::uint64_t state_bytes);

// By folder: output_dir, and the folders in which caches will be made.
std::vector<DiskForecast> disk_forecast(const Forecast& forecast, const dataset::Manifest& manifest,
                                        const config::Settings& settings);

}  // namespace lathe::plan
