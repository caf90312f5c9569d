#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "core/base/message.h"
#include "core/base/python_random.h"
#include "core/config/dataset_config.h"
#include "core/config/settings.h"

namespace lathe::dataset {

struct Size {
  int width = 0, height = 0;  // pixels
  auto operator<=>(const Size&) const = default;
};

// How one image is brought to its bucket: resized to `resized`, then cropped to `bucket` at its centre.
struct Fit {
  Size bucket;
  Size resized;
  double aspect_error = 0.0;  // bucket ratio − image ratio
};

struct Image {
  std::string key;  // path as the reference names it: image_dir + "/" + file name
  std::filesystem::path path;
  std::string caption;  // raw, as stored for caching; process_caption (text/captions.h) makes the trained one
  std::filesystem::path caption_file;  // empty: none was found
  Size size;                           // of the file
  Fit fit;
  std::int64_t repeats = 1;
  bool is_reg = false;
  std::size_t subset = 0;              // index into DatasetConfig::subsets
  std::filesystem::path latent_cache;  // <stem>_<W4>x<H4>_anima.npz
  std::filesystem::path text_cache;    // <stem>_anima_te.npz
};

// One used bucket: its images in registration order, each `repeats` times, as indices into Dataset::images.
struct Bucket {
  Size size;
  std::vector<std::size_t> items;
};

struct Dataset {
  config::DatasetConfig config;
  std::vector<Image> images;        // registration order
  std::vector<Bucket> buckets;      // used ones only, sorted by (width, height)
  double mean_aspect_error = 0;     // of |aspect_error|, repeats not counted
  std::size_t batch_count() const;  // Σ ceil(items / batch_size), as in the reference: nothing is dropped
  std::int64_t training_items(bool regularisation) const;  // images × repeats
};

struct SkippedFile {
  std::filesystem::path path;
  Message reason;
};

// What will be trained on, before any tensor exists.
struct Manifest {
  std::vector<Dataset> training;
  std::vector<Dataset> validation;  // empty without validation_split; the same order as training
  std::vector<SkippedFile> skipped;
  std::map<std::string, std::map<std::string, std::int64_t>> tag_frequency;  // folder name → tag → count
  std::int64_t image_count() const;  // num_train_images × repeats, regularisation not counted
  std::int64_t regularisation_count() const;
  std::size_t batch_count() const;
};

// Lists folders, reads captions, probes sizes (headers only), chooses buckets. `random` is the run's Python generator
// (the validation split draws from it). `progress(done, total)` may throw Error(stopped). Problems that stop the run go
// into `findings` as errors; broken files are skipped and listed.
Manifest build_manifest(const config::DataConfig& config, const config::Settings& settings, PythonRandom& random,
                        config::Findings& findings, const std::function<void(std::size_t, std::size_t)>& progress = {});

}  // namespace lathe::dataset
