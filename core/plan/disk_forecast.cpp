#include "core/plan/disk_forecast.h"

#include <algorithm>
#include <map>
#include <set>
#include <system_error>

#include "core/base/error.h"
#include "core/base/files.h"
#include "core/base/paths.h"

namespace lathe::plan {

namespace fs = std::filesystem;

namespace {

constexpr std::uint64_t kLatentChannels = 16;
constexpr std::uint64_t kPixelsPerLatent = 8;
constexpr std::uint64_t kFloat = 4;
constexpr std::int64_t kQwen3Width = 1024;
// An array in a zip: NPY header, local header with its ZIP64 field, entry of the directory. The end record is per file.
constexpr std::uint64_t kArrayOverhead = 128 + 80 + 80;
constexpr std::uint64_t kFileOverhead = 22;

std::uint64_t latent_bytes(const dataset::Dataset& dataset, const dataset::Image& image) {
  const config::SubsetConfig& subset = dataset.config.subsets[image.subset];
  const auto pixels =
      static_cast<std::uint64_t>(image.fit.bucket.width) * static_cast<std::uint64_t>(image.fit.bucket.height);
  const std::uint64_t latents = kLatentChannels * pixels / (kPixelsPerLatent * kPixelsPerLatent) * kFloat;
  // latents, original_size (2 · int64), crop_ltrb (4 · double)
  std::uint64_t bytes = latents + 16 + 32 + 3 * kArrayOverhead;
  if (subset.flip_aug) bytes += latents + kArrayOverhead;
  if (subset.alpha_mask) bytes += pixels * kFloat + kArrayOverhead;
  return bytes;
}

// Calls `visit(dataset, image)` for all images, those of validation too.
template <class Visit>
void for_each_image(const dataset::Manifest& manifest, const Visit& visit) {
  for (const auto* datasets : {&manifest.training, &manifest.validation}) {
    for (const dataset::Dataset& dataset : *datasets) {
      for (const dataset::Image& image : dataset.images) visit(dataset, image);
    }
  }
}

bool is_there(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

}  // namespace

CacheForecast latent_cache_forecast(const dataset::Manifest& manifest, const config::Settings& settings) {
  CacheForecast forecast;
  forecast.on_disk = settings.flag("cache_latents_to_disk");
  forecast.wanted = forecast.on_disk || settings.flag("cache_latents");
  if (!forecast.wanted) return forecast;
  std::map<fs::path, std::set<dataset::Size>> seen;  // one file holds the latents of several buckets
  std::set<fs::path> to_make;
  for_each_image(manifest, [&](const dataset::Dataset& dataset, const dataset::Image& image) {
    if (!seen[image.latent_cache].insert(image.fit.bucket).second) return;
    ++forecast.entries;
    if (forecast.on_disk && is_there(image.latent_cache)) return;
    forecast.bytes_to_make += latent_bytes(dataset, image);
    if (to_make.insert(image.latent_cache).second) forecast.bytes_to_make += kFileOverhead;
  });
  forecast.to_make = static_cast<std::int64_t>(to_make.size());
  return forecast;
}

CacheForecast text_cache_forecast(const dataset::Manifest& manifest, const config::Settings& settings,
                                  std::int64_t text_width) {
  CacheForecast forecast;
  forecast.on_disk = settings.flag("cache_text_encoder_outputs_to_disk");
  forecast.wanted = forecast.on_disk || settings.flag("cache_text_encoder_outputs");
  if (!forecast.wanted) return forecast;
  const auto rows = static_cast<std::uint64_t>(settings.integer("qwen3_max_token_length"));
  const auto t5_rows = static_cast<std::uint64_t>(settings.integer("t5_max_token_length"));
  const auto width = static_cast<std::uint64_t>(text_width > 0 ? text_width : kQwen3Width);
  // prompt_embeds, attn_mask (int64), t5_input_ids and t5_attn_mask (int32), caption_dropout_rate
  const std::uint64_t bytes =
      rows * width * kFloat + rows * 8 + t5_rows * (4 + 4) + kFloat + 5 * kArrayOverhead + kFileOverhead;
  std::set<fs::path> seen;
  for_each_image(manifest, [&](const dataset::Dataset&, const dataset::Image& image) {
    if (!seen.insert(image.text_cache).second) return;
    ++forecast.entries;
    if (forecast.on_disk && is_there(image.text_cache)) return;
    ++forecast.to_make;
    forecast.bytes_to_make += bytes;
  });
  return forecast;
}

std::uint64_t saved_bytes(const std::vector<Save>& saves, std::uint64_t adapter_bytes, std::uint64_t state_bytes) {
  std::set<std::string> adapters, states;
  std::uint64_t most = 0;
  for (const Save& save : saves) {
    adapters.insert(save.adapter);
    if (!save.state.empty()) states.insert(save.state);
    most = std::max(most, adapters.size() * adapter_bytes + states.size() * state_bytes);
    adapters.erase(save.outdated_adapter);
    states.erase(save.outdated_state);
  }
  return most;
}

std::vector<DiskForecast> disk_forecast(const Forecast& forecast, const dataset::Manifest& manifest,
                                        const config::Settings& settings) {
  std::map<fs::path, std::uint64_t> bytes;
  if (const std::string output = settings.text("output_dir"); !output.empty()) {
    bytes[from_utf8(output)] += forecast.output_bytes;
  }
  std::map<fs::path, std::int64_t> latents, texts;  // cache files to make, by folder
  std::set<fs::path> seen;
  for_each_image(manifest, [&](const dataset::Dataset&, const dataset::Image& image) {
    const auto count = [&](const CacheForecast& kind, const fs::path& file, auto& folders) {
      if (kind.on_disk && seen.insert(file).second && !is_there(file)) ++folders[file.parent_path()];
    };
    count(forecast.latents, image.latent_cache, latents);
    count(forecast.texts, image.text_cache, texts);
  });
  const auto share = [&](const CacheForecast& kind, const std::map<fs::path, std::int64_t>& folders) {
    for (const auto& [folder, count] : folders) {
      bytes[folder] += kind.bytes_to_make * static_cast<std::uint64_t>(count) /
                       static_cast<std::uint64_t>(std::max<std::int64_t>(kind.to_make, 1));
    }
  };
  share(forecast.latents, latents);
  share(forecast.texts, texts);

  std::vector<DiskForecast> disk;
  for (const auto& [folder, need] : bytes) {
    try {
      disk.push_back({folder, need, free_disk_space(folder)});
    } catch (const Error&) {
      disk.push_back({folder, need, 0});  // whether it can be written to is said by the validator
    }
  }
  return disk;
}

}  // namespace lathe::plan
