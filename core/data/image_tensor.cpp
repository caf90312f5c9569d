#include "core/data/image_tensor.h"

#include <array>

#include <ATen/ops/empty.h>

#include "core/base/error.h"
#include "core/base/format.h"
#include "core/dataset/resize.h"
#include "core/io/image_file.h"

namespace lathe::data {
namespace {

using dataset::Offset;
using dataset::Size;

// Every 8-bit value as the network sees it: (v / 255 − 0.5) / 0.5, and as alpha: v / 255, each step in fp32.
struct Levels {
  std::array<float, 256> colour, alpha;
  Levels() {
    for (std::size_t v = 0; v < 256; ++v) {
      alpha[v] = static_cast<float>(v) / 255.0f;
      colour[v] = (alpha[v] - 0.5f) / 0.5f;
    }
  }
};

at::Tensor empty(std::initializer_list<std::int64_t> shape) {
  return at::empty(shape, at::TensorOptions().dtype(at::kFloat));
}

// The bucket at `offset`, one plane a channel. Plain loops: loader threads must not start LibTorch's thread pools.
ImageTensor to_tensor(const io::Image& image, Size bucket, Offset offset) {
  static const Levels levels;
  const std::int64_t height = bucket.height, width = bucket.width, plane = height * width;
  const bool has_alpha = image.channels == 4;
  ImageTensor result{empty({3, height, width}), has_alpha ? empty({height, width}) : at::Tensor()};
  auto* colour = result.pixels.mutable_data_ptr<float>();
  auto* alpha = has_alpha ? result.alpha_mask.mutable_data_ptr<float>() : nullptr;
  for (int y = 0; y < bucket.height; ++y) {
    const std::uint8_t* pixel = image.at(offset.x, offset.y + y).data();
    for (int x = 0; x < bucket.width; ++x, pixel += image.channels, ++colour) {
      for (std::int64_t channel = 0; channel < 3; ++channel) colour[channel * plane] = levels.colour[pixel[channel]];
      if (alpha != nullptr) *alpha++ = levels.alpha[pixel[3]];
    }
  }
  return result;
}

}  // namespace

CropPlace draw_crop(const dataset::Dataset& dataset, const dataset::Image& image, PythonRandom& random) {
  if (dataset.config.enable_bucket) return {image.fit.resized, dataset::random_crop(image.fit, random)};
  const Size bucket = image.fit.bucket;
  CropPlace place{image.size, {}};
  const int above = image.size.height - bucket.height, beside = image.size.width - bucket.width;
  if (above < 0 || beside < 0) {
    throw Error(ErrorKind::dataset,
                format("{} has {}x{} pixels, too few for a random crop of {}x{} without buckets", image.path,
                       image.size.width, image.size.height, bucket.width, bucket.height));
  }
  if (above > 0) place.offset.y = static_cast<int>(random.randint(0, above));
  if (beside > 0) place.offset.x = static_cast<int>(random.randint(0, beside));
  return place;
}

ImageTensor load_image_tensor(const dataset::Dataset& dataset, const dataset::Image& image,
                              const std::optional<CropPlace>& place) {
  const bool want_alpha = dataset.config.subsets.at(image.subset).alpha_mask;
  io::Image pixels = io::decode_image(image.path, want_alpha);
  const Size resized = place ? place->resized : image.fit.resized;
  if (Size{pixels.width, pixels.height} != resized) {
    pixels = dataset::resize(pixels, resized, dataset::interpolation_of(dataset.config, image.subset));
  }
  return to_tensor(pixels, image.fit.bucket, place ? place->offset : dataset::centre_crop(image.fit));
}

}  // namespace lathe::data
