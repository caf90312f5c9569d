#include "core/plan/forecast.h"

#include <algorithm>
#include <set>

#include "core/base/error.h"
#include "core/base/format.h"
#include "core/base/paths.h"
#include "core/plan/disk_forecast.h"
#include "core/plan/shape_forecast.h"

namespace lathe::plan {

namespace {

constexpr TextId kDroppedBucket =
    LATHE_TEXT("plan.dropped_bucket", "its bucket {}x{} holds fewer items than a batch, and bucket_remainder is drop");
constexpr TextId kVae = LATHE_TEXT("plan.memory.vae", "VAE: latents are not cached");
constexpr TextId kTextEncoder = LATHE_TEXT("plan.memory.text_encoder", "text encoder: its outputs are not cached");
constexpr TextId kModelUnread =
    LATHE_TEXT("plan.model_unread", "{}; sizes of the model, adapter and memory are unknown");
constexpr TextId kDisk = LATHE_TEXT("plan.disk", "{} will hold up to {} more, and {} are free there");
constexpr TextId kShapes = LATHE_TEXT(
    "plan.shapes",
    "{} shapes need as many compiled forms, and compile_cache_size_limit is {}: batches of the others run uncompiled");
constexpr TextId kRaiseLimit = LATHE_TEXT("plan.fix.raise_limit", "raise compile_cache_size_limit to {}");
constexpr TextId kDynamic = LATHE_TEXT("plan.fix.dynamic", "let one compiled form serve several sizes");
constexpr TextId kCoverage =
    LATHE_TEXT("plan.coverage",
               "{} of {} images are used, {} percent; coverage_threshold is {}: the run will end with exit code 4");

void count_images(const dataset::Manifest& manifest, Forecast& forecast) {
  std::set<std::filesystem::path> used, dropped, regularisation, validation;
  for (const dataset::Dataset& dataset : manifest.training) {
    for (const dataset::Bucket& bucket : dataset.buckets) {
      const bool never = dataset::batches_of(bucket.items.size(), dataset.config.batch_size, dataset.remainder) == 0;
      for (const std::size_t item : bucket.items) {
        const dataset::Image& image = dataset.images[item];
        if (!never) {
          (image.is_reg ? regularisation : used).insert(image.path);
          if (image.is_reg) ++forecast.regularisation_items;
        } else if (dropped.insert(image.path).second) {
          forecast.dropped.push_back({image.path, message(kDroppedBucket, bucket.size.width, bucket.size.height)});
        }
      }
    }
  }
  for (const dataset::SkippedFile& file : manifest.skipped) {
    if (dropped.insert(file.path).second) forecast.dropped.push_back({file.path, file.reason});
  }
  for (const dataset::Dataset& dataset : manifest.validation) {
    for (const dataset::Image& image : dataset.images) validation.insert(image.path);
  }
  // An image that one dataset drops and another uses is used.
  std::erase_if(forecast.dropped, [&](const DroppedImage& image) {
    return used.contains(image.path) || regularisation.contains(image.path);
  });
  forecast.images = static_cast<std::int64_t>(used.size());
  forecast.items = manifest.image_count();
  forecast.regularisation_images = static_cast<std::int64_t>(regularisation.size());
  forecast.validation_images = static_cast<std::int64_t>(validation.size());
  const double kept = static_cast<double>(used.size() + regularisation.size());
  const double all = kept + static_cast<double>(forecast.dropped.size());
  forecast.coverage = all > 0 ? kept / all : 1.0;
}

void read_model(const config::Settings& settings, Forecast& forecast, config::Findings& findings) {
  const std::string path = settings.text("pretrained_model_name_or_path");
  if (path.empty()) return;
  try {
    const std::vector<DitTensor> tensors = read_dit_tensors(from_utf8(path));
    forecast.model = dit_shape(tensors);
    forecast.adapter = adapter_size(tensors, settings);
  } catch (const Error& error) {
    findings.warning({"pretrained_model_name_or_path"}, message(kModelUnread, error.message()));
  }
}

// What is not cached is encoded in every step, so its model stays on the device.
void add_encoders(const config::Settings& settings, Forecast& forecast) {
  const auto add = [&](TextId name, const char* option, std::int64_t bytes) {
    const std::string path = settings.text(option);
    if (path.empty()) return;
    try {
      forecast.memory.push_back(weights_part(name, parameters_in(from_utf8(path)), bytes));
    } catch (const Error&) {
      // A file of another kind, or none: whether it can be used is said where it is loaded.
    }
  };
  const std::int64_t bytes = settings.text("mixed_precision") == "no" ? 4 : 2;
  if (!forecast.latents.wanted) add(kVae, "vae", settings.flag("no_half_vae") ? 4 : bytes);
  if (!forecast.texts.wanted) add(kTextEncoder, "qwen3", bytes);
}

LargestBatch largest_batch(const std::vector<ShapeForecast>& shapes) {
  LargestBatch largest;
  for (const ShapeForecast& shape : shapes) {
    const std::int64_t tokens = shape.batch * (shape.height / 2) * (shape.width / 2);  // patches of 2×2 latents
    if (tokens > largest.tokens) largest = {tokens, shape.batch};
  }
  return largest;
}

void check_disk(const Forecast& forecast, config::Findings& findings) {
  for (const DiskForecast& disk : forecast.disk) {
    if (disk.bytes <= disk.free) continue;
    findings.error({"output_dir"}, message(kDisk, disk.folder, human_bytes(disk.bytes), human_bytes(disk.free)));
  }
}

void check_compiles(const Forecast& forecast, config::Findings& findings) {
  if (forecast.compiles <= forecast.compile_limit) return;
  config::Finding& finding = findings.warning({"compile_cache_size_limit", "compile_dynamic"},
                                              message(kShapes, forecast.compiles, forecast.compile_limit));
  finding.fixes.push_back({message(kDynamic), {{"compile_dynamic", "auto"}}});
  finding.fixes.push_back(
      {message(kRaiseLimit, forecast.compiles), {{"compile_cache_size_limit", std::to_string(forecast.compiles)}}});
}

void check_coverage(const Forecast& forecast, const config::Settings& settings, config::Findings& findings) {
  const auto threshold = settings.maybe_real("coverage_threshold");
  if (!threshold || forecast.coverage >= *threshold) return;
  const std::int64_t used = forecast.images + forecast.regularisation_images;
  findings.warning({"coverage_threshold"},
                   message(kCoverage, used, used + static_cast<std::int64_t>(forecast.dropped.size()),
                           format("{:.1f}", 100.0 * forecast.coverage), *threshold));
}

}  // namespace

Forecast make_forecast(const config::Settings& settings, const dataset::Manifest& manifest,
                       config::Findings& findings) {
  Forecast forecast;
  count_images(manifest, forecast);
  forecast.buckets = bucket_forecast(manifest.training);
  forecast.shapes = shape_forecast(manifest.training);
  forecast.compiles = compile_forecast(forecast.shapes, settings);
  forecast.compile_limit = settings.integer("compile_cache_size_limit");

  forecast.length = run_length(static_cast<std::int64_t>(manifest.batch_count()), settings);
  forecast.saves = SavePlan(settings, forecast.length).all();
  forecast.sample_times = SamplePlan(settings).count(forecast.length);

  read_model(settings, forecast, findings);
  forecast.latents = latent_cache_forecast(manifest, settings);
  forecast.texts = text_cache_forecast(manifest, settings, forecast.model ? forecast.model->text_width : 0);
  if (forecast.model) {
    forecast.memory = memory_estimate(*forecast.model, forecast.adapter, largest_batch(forecast.shapes), settings);
    add_encoders(settings, forecast);
    forecast.memory_bytes = total(forecast.memory);
  }
  const auto optimizer = static_cast<std::uint64_t>(optimizer_bytes_per_parameter(settings) *
                                                    static_cast<double>(forecast.adapter.parameters));
  forecast.output_bytes =
      saved_bytes(forecast.saves, forecast.adapter.file_bytes, forecast.adapter.memory_bytes + optimizer);
  forecast.disk = disk_forecast(forecast, manifest, settings);

  explain_run_length(forecast.length, settings, findings);
  check_disk(forecast, findings);
  check_compiles(forecast, findings);
  check_coverage(forecast, settings, findings);
  return forecast;
}

}  // namespace lathe::plan
