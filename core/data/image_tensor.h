#pragma once

#include <optional>

#include <ATen/core/Tensor.h>

#include "core/base/python_random.h"
#include "core/dataset/crop.h"
#include "core/dataset/manifest.h"

namespace lathe::data {

struct ImageTensor {
  at::Tensor pixels;      // [3, H, W] fp32 in [−1, 1], H and W of the bucket
  at::Tensor alpha_mask;  // [H, W] fp32 in [0, 1]; undefined without alpha_mask
};

// Where random_crop cuts: the image is brought to `resized`, the bucket is cut out at `offset`.
struct CropPlace {
  dataset::Size resized;
  dataset::Offset offset;
};

// Draws the place of one use of an image. With buckets it is resized as its Fit says; without, it is not resized at
// all and the height is drawn first. Error(dataset) where such an image is smaller than the resolution.
CropPlace draw_crop(const dataset::Dataset& dataset, const dataset::Image& image, PythonRandom& random);

// Decodes, resizes and crops one image as its Fit says (at the centre), or at `place`. Error(dataset) names the file.
ImageTensor load_image_tensor(const dataset::Dataset& dataset, const dataset::Image& image,
                              const std::optional<CropPlace>& place = std::nullopt);

}  // namespace lathe::data
