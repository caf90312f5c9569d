#include "app/batch/commands.h"
#include "core/base/format.h"

namespace lathe::batch {

namespace {

std::string cache_line(std::string_view what, const plan::CacheForecast& cache) {
  if (!cache.wanted) return format("{}: not cached, made anew for every batch\n", what);
  if (!cache.on_disk) return format("{}: {} cached in memory\n", what, cache.entries);
  return format("{}: {} on disk, {} to make ({})\n", what, cache.entries, cache.to_make,
                human_bytes(cache.bytes_to_make));
}

std::string pictures(const plan::Forecast& forecast) {
  std::string text = format("images: {} used, {} with repeats", forecast.images, forecast.items);
  if (forecast.regularisation_images > 0) {
    text += format("; {} for regularisation, {} with repeats", forecast.regularisation_images,
                   forecast.regularisation_items);
  }
  if (forecast.validation_images > 0) text += format("; {} for validation", forecast.validation_images);
  text += format("; {} dropped, coverage {:.1f} %\n", forecast.dropped.size(), forecast.coverage * 100.0);
  for (const plan::DroppedImage& dropped : forecast.dropped) {
    text += format("  dropped {}: {}\n", dropped.path, dropped.reason.english());
  }
  for (const plan::BucketForecast& bucket : forecast.buckets) {
    text += format("  bucket {}x{}: {} images, {} with repeats, {} batches\n", bucket.size.width, bucket.size.height,
                   bucket.images, bucket.items, bucket.batches);
  }
  return text;
}

// One line a folder; caches beside many image folders are summed up.
std::string disk_lines(const std::vector<plan::DiskForecast>& folders) {
  constexpr std::size_t kFolders = 4;
  std::string text;
  std::uint64_t bytes = 0, free = 0;
  for (std::size_t i = 0; i < folders.size(); ++i) {
    const plan::DiskForecast& disk = folders[i];
    if (folders.size() > kFolders && i + 1 < folders.size()) {
      bytes += disk.bytes;
      free = disk.free;
    } else {
      text += format("disk: {} needed in {}, {} free\n", human_bytes(disk.bytes), disk.folder, human_bytes(disk.free));
    }
  }
  if (bytes > 0) {
    text = format("disk: {} needed in {} image folders, {} free\n", human_bytes(bytes),
                  static_cast<std::uint64_t>(folders.size() - 1), human_bytes(free)) +
           text;
  }
  return text;
}

}  // namespace

std::string forecast_text(const plan::Forecast& forecast) {
  const plan::RunLength& length = forecast.length;
  std::string text = pictures(forecast);
  text += format("batches: {} an epoch, accumulation {}, {} steps an epoch\n", length.batches_per_epoch,
                 length.accumulation, length.steps_per_epoch);
  text += format("length: {} steps, {} epochs\n", length.steps, length.epochs);
  text += format("shapes: {}\n", forecast.shapes.size());
  for (const plan::ShapeForecast& shape : forecast.shapes) {
    text += format("  latents {}x{}x{}: {} batches an epoch\n", shape.batch, shape.height, shape.width, shape.batches);
  }
  if (forecast.compiles > 0)
    text += format("compiles: {} a block structure, limit {}\n", forecast.compiles, forecast.compile_limit);
  text += cache_line("latents", forecast.latents) + cache_line("text outputs", forecast.texts);
  text += format("saves: {} adapters ({})\n", forecast.saves.size(), human_bytes(forecast.output_bytes));
  for (const plan::Save& save : forecast.saves) text += format("  step {}: {}\n", save.step, save.adapter);
  if (forecast.sample_times > 0) text += format("samples: {} times\n", forecast.sample_times);
  text += disk_lines(forecast.disk);
  if (!forecast.memory.empty()) text += format("memory: about {}\n", human_bytes(forecast.memory_bytes));
  for (const plan::MemoryPart& part : forecast.memory)
    text += format("  {}: {} ({})\n", part.name.english(), human_bytes(part.bytes), part.formula.english());
  return text;
}

}  // namespace lathe::batch
