#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/base/python_random.h"
#include "core/data/image_tensor.h"
#include "core/data/text_cache.h"
#include "core/dataset/manifest.h"
#include "core/dataset/order.h"
#include "core/text/captions.h"

namespace lathe::data {

// One use of an image, with all that chance decides about it.
struct ItemPlan {
  const dataset::Image* image = nullptr;
  bool flip = false;
  bool drop_caption = false;
  std::optional<CropPlace> crop;
  std::string caption;  // to encode; with a text cache the one that was encoded
};

struct BatchPlan {
  dataset::Batch batch;
  const dataset::Dataset* dataset = nullptr;
  std::vector<ItemPlan> items;
};

// What is not cached and so decided anew at each use.
struct PlanOptions {
  bool latents_cached = false;
  const TextCache* texts = nullptr;  // null: captions are processed and encoded during training
};

// Makes the draws of one batch, in the order that ImageLoader states. Throws Error(dataset) where a cached dropout rate
// cannot be read or an image is too small for its random crop.
BatchPlan plan_batch(const std::vector<dataset::Dataset>& datasets, dataset::Batch batch, const PlanOptions& options,
                     const text::CaptionMoment& moment, PythonRandom& random);

}  // namespace lathe::data
