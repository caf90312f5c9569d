#include "core/dataset/crop.h"

#include <cmath>

#include "core/base/error.h"
#include "core/base/format.h"

namespace lathe::dataset {

namespace {

Size surplus(const Fit& fit) {
  const Size surplus{fit.resized.width - fit.bucket.width, fit.resized.height - fit.bucket.height};
  if (surplus.width < 0 || surplus.height < 0) {
    throw Error(ErrorKind::internal, format("an image of {}x{} pixels cannot be cropped to {}x{}", fit.resized.width,
                                            fit.resized.height, fit.bucket.width, fit.bucket.height));
  }
  return surplus;
}

}  // namespace

Offset centre_crop(const Fit& fit) {
  const Size extra = surplus(fit);
  return {extra.width / 2, extra.height / 2};
}

Offset random_crop(const Fit& fit, PythonRandom& random) {
  const Size extra = surplus(fit);
  Offset offset;
  if (extra.width > 0) offset.x = static_cast<int>(random.randint(0, extra.width));
  if (extra.height > 0) offset.y = static_cast<int>(random.randint(0, extra.height));
  return offset;
}

std::array<double, 4> crop_ltrb(Size bucket, Size original) {
  const double bucket_ratio = static_cast<double>(bucket.width) / bucket.height;
  const double image_ratio = static_cast<double>(original.width) / original.height;
  const bool by_height = bucket_ratio > image_ratio;
  const double width = by_height ? bucket.height * image_ratio : bucket.width;
  const double height = by_height ? bucket.height : bucket.width / image_ratio;
  const double left = std::floor((bucket.width - width) / 2);
  const double top = std::floor((bucket.height - height) / 2);
  return {left, top, left + width, top + height};
}

}  // namespace lathe::dataset
