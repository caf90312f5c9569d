#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/config/dataset_config.h"
#include "core/config/diagnostic.h"
#include "core/config/settings.h"
#include "core/dataset/manifest.h"
#include "core/plan/adapter_size.h"
#include "core/plan/memory_estimate.h"
#include "core/plan/run_length.h"
#include "core/plan/save_plan.h"

namespace lathe::plan {

struct BucketForecast {
  std::size_t dataset = 0;
  dataset::Size size;
  std::int64_t images = 0;   // different ones
  std::int64_t items = 0;    // with repeats
  std::int64_t batches = 0;  // of one epoch
};

// A shape that the network sees, and that a compiler without dynamic sizes compiles for.
struct ShapeForecast {
  std::int64_t batch = 0, height = 0, width = 0;  // height and width of the latents
  std::int64_t batches = 0;                       // of one epoch
};

struct DroppedImage {
  std::filesystem::path path;
  Message reason;
};

// Files of one kind that caching will make; those that exist are taken to be usable.
struct CacheForecast {
  bool wanted = false;   // latents, or text outputs, are cached at all
  bool on_disk = false;  // else in memory: no files
  std::int64_t entries = 0;
  std::int64_t to_make = 0;
  std::uint64_t bytes_to_make = 0;
};

struct DiskForecast {
  std::filesystem::path folder;
  std::uint64_t bytes = 0;  // the most that will lie there at one time
  std::uint64_t free = 0;
};

// What a run will do, before it does it. Everything the front ends show and print comes from here.
struct Forecast {
  std::int64_t images = 0;                                           // different files that are trained on
  std::int64_t items = 0;                                            // images · repeats, regularisation not counted
  std::int64_t regularisation_images = 0, regularisation_items = 0;  // as used
  std::int64_t validation_images = 0;
  std::vector<DroppedImage> dropped;
  double coverage = 1.0;  // used / (used + dropped)

  std::vector<BucketForecast> buckets;
  std::vector<ShapeForecast> shapes;  // by size, then batch
  std::int64_t compiles = 0;          // of one block structure, by compile_dynamic; 0 with compile off
  std::int64_t compile_limit = 0;     // compile_cache_size_limit

  RunLength length;
  std::vector<Save> saves;
  std::int64_t sample_times = 0;

  CacheForecast latents, texts;
  std::optional<DitShape> model;  // nothing: the checkpoint could not be read
  AdapterSize adapter;
  std::uint64_t output_bytes = 0;  // adapters and states, the most at one time
  std::vector<DiskForecast> disk;
  std::vector<MemoryPart> memory;  // empty without `model`
  std::uint64_t memory_bytes = 0;
};

// Reads the checkpoint's header, and asks folders for their free space; opens nothing else. What a person should know
// goes into `findings`: epochs that win over steps, too little disk, more shapes than compiled forms, low coverage.
Forecast make_forecast(const config::Settings& settings, const dataset::Manifest& manifest, config::Findings& findings);

}  // namespace lathe::plan
