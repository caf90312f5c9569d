#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <utility>
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

// What becomes of the items of a bucket that do not fill its last batch (`bucket_remainder`).
enum class BucketRemainder {
  smaller,  // a smaller last batch, as in the reference
  repeat,   // the batch is filled up from the start of the bucket's present order
  merge,    // a bucket with fewer items than a batch joins the used bucket of the nearest ratio; else as smaller
  drop,     // no last batch: each epoch leaves other items out, and a bucket below one batch is never trained
};

// How often each tag occurs in the captions of one folder or metadata file, in the order first seen.
struct FolderTags {
  std::string folder;  // base name
  std::vector<std::pair<std::string, std::int64_t>> tags;
};

struct Dataset {
  config::DatasetConfig config;
  BucketRemainder remainder = BucketRemainder::smaller;
  std::vector<Image> images;                // registration order
  std::vector<Bucket> buckets;              // used ones only, sorted by (width, height)
  std::vector<std::int64_t> subset_images;  // by subset of config: images taken from it; 0: the subset was skipped
  std::vector<FolderTags> tag_frequency;
  double mean_aspect_error = 0;  // of |aspect_error|, repeats not counted
  // Σ over buckets of the batches, by `remainder`: ceil(items / batch_size) unless short ones are dropped.
  std::size_t batch_count() const;
  // Σ images × num_repeats as found: regularisation images before they were cut or repeated to match the others.
  std::int64_t training_items(bool regularisation) const;
};

// Batches of a bucket with `items` items.
std::size_t batches_of(std::size_t items, std::int64_t batch_size, BucketRemainder remainder);

struct SkippedFile {
  std::filesystem::path path;
  Message reason;
};

// What will be trained on, before any tensor exists.
struct Manifest {
  std::vector<Dataset> training;
  std::vector<Dataset> validation;  // empty without validation_split; the same order as training
  std::vector<SkippedFile> skipped;
  std::vector<FolderTags> tag_frequency;  // of the training datasets; a folder of several of them is counted once
  std::int64_t image_count() const;       // num_train_images × repeats, regularisation not counted
  std::int64_t regularisation_count() const;
  std::size_t batch_count() const;
};

// Lists folders, reads captions, probes sizes (headers only), chooses buckets. `random` is the run's Python generator
// (the validation split draws from it). `progress(done, total)` may throw Error(stopped). Problems that stop the run go
// into `findings` as errors; broken files are skipped and listed.
Manifest build_manifest(const config::DataConfig& config, const config::Settings& settings, PythonRandom& random,
                        config::Findings& findings, const std::function<void(std::size_t, std::size_t)>& progress = {});

}  // namespace lathe::dataset
