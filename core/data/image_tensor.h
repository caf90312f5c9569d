#pragma once

#include <ATen/core/Tensor.h>

#include "core/dataset/manifest.h"

namespace lathe::data {

struct ImageTensor {
  at::Tensor pixels;      // [3, H, W] fp32 in [−1, 1], H and W of the bucket
  at::Tensor alpha_mask;  // [H, W] fp32 in [0, 1]; undefined without alpha_mask
};

// Decodes, resizes and crops one image as its Fit says. Error(dataset) names the file.
ImageTensor load_image_tensor(const dataset::Dataset& dataset, const dataset::Image& image);

}  // namespace lathe::data
