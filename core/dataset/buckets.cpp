#include "core/dataset/buckets.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "core/base/error.h"
#include "core/base/format.h"

namespace lathe::dataset {

namespace {

double ratio(Size size) {
  return static_cast<double>(size.width) / size.height;
}

int rounded(double value) {
  return static_cast<int>(value + 0.5);
}  // as int(x + 0.5) of the reference

// Python's a // b of two positive numbers: it rests on fmod, which rounds nothing.
double floor_divide(double a, double b) {
  const double quotient = (a - std::fmod(a, b)) / b;
  const double floored = std::floor(quotient);
  return quotient - floored > 0.5 ? floored + 1.0 : floored;
}

}  // namespace

BucketLimits adjusted_limits(std::int64_t smallest, std::int64_t largest, std::int64_t step) {
  return {smallest - smallest % step, (largest + step - 1) / step * step};
}

std::vector<Size> bucket_list(Size resolution, BucketLimits limits, std::int64_t step) {
  const std::int64_t area = std::int64_t{resolution.width} * resolution.height;
  const auto square = static_cast<int>(floor_divide(std::sqrt(static_cast<double>(area)), static_cast<double>(step)) *
                                       static_cast<double>(step));

  std::set<Size> buckets{{square, square}};
  // A lowered limit of 0 would divide by zero: the first width that can hold pixels is one step.
  for (std::int64_t width = std::max(limits.smallest, step); width <= limits.largest; width += step) {
    const std::int64_t height = std::min(limits.largest, area / width / step * step);
    if (height < std::max(limits.smallest, step)) continue;
    buckets.insert({static_cast<int>(width), static_cast<int>(height)});
    buckets.insert({static_cast<int>(height), static_cast<int>(width)});
  }
  return {buckets.begin(), buckets.end()};
}

BucketChooser::BucketChooser(const config::DatasetConfig& config)
    : area_(std::int64_t{config.width} * config.height),
      step_(config.bucket_reso_steps),
      no_upscale_(config.enable_bucket && config.bucket_no_upscale) {
  if (config.width <= 0 || config.height <= 0) {
    throw Error(ErrorKind::settings, "a dataset has no resolution; set resolution, for example 1024");
  }
  if (!config.enable_bucket) {
    buckets_ = {{config.width, config.height}};
    return;
  }
  if (step_ <= 0) {
    throw Error(ErrorKind::settings, format("bucket_reso_steps is {}, it must be at least 1 (64 is usual)", step_));
  }
  const BucketLimits limits = adjusted_limits(config.min_bucket_reso, config.max_bucket_reso, step_);
  const auto [shorter, longer] = std::minmax(config.width, config.height);
  if (shorter < limits.smallest || longer > limits.largest) {
    throw Error(ErrorKind::settings,
                format("the resolution {}x{} lies outside the bucket limits {} to {}; change min_bucket_reso or "
                       "max_bucket_reso",
                       config.width, config.height, limits.smallest, limits.largest));
  }
  if (!no_upscale_) buckets_ = bucket_list({config.width, config.height}, limits, step_);
}

Fit BucketChooser::fit(Size image) const {
  if (image.width <= 0 || image.height <= 0) {
    throw Error(ErrorKind::dataset, format("the image is {}x{} pixels", image.width, image.height));
  }
  return no_upscale_ ? without_upscaling(image) : nearest(image);
}

Fit BucketChooser::fit_to(Size image, Size bucket) {
  const double image_ratio = ratio(image);
  const double bucket_ratio = ratio(bucket);
  const double scale = image_ratio > bucket_ratio ? static_cast<double>(bucket.height) / image.height
                                                  : static_cast<double>(bucket.width) / image.width;
  return {bucket, {rounded(image.width * scale), rounded(image.height * scale)}, bucket_ratio - image_ratio};
}

Fit BucketChooser::nearest(Size image) const {
  if (std::ranges::binary_search(buckets_, image)) return fit_to(image, image);
  const double image_ratio = ratio(image);
  const auto best =
      std::ranges::min_element(buckets_, {}, [&](Size bucket) { return std::abs(ratio(bucket) - image_ratio); });
  return fit_to(image, *best);
}

Fit BucketChooser::without_upscaling(Size image) const {
  const double image_ratio = ratio(image);
  Size resized = image;
  if (std::int64_t{image.width} * image.height > area_) {
    const auto to_step = [&](double value) { return rounded(value) - rounded(value) % static_cast<int>(step_); };
    const double width = std::sqrt(static_cast<double>(area_) * image_ratio);
    const double height = static_cast<double>(area_) / width;
    // Two candidates: the width on the step, or the height. A candidate with a side of 0 has no ratio.
    const int width_a = to_step(width), height_a = to_step(width_a / image_ratio);
    const int height_b = to_step(height), width_b = to_step(height_b * image_ratio);
    const auto error = [&](int w, int h) { return std::abs(static_cast<double>(w) / h - image_ratio); };
    const bool a_is_whole = width_a > 0 && height_a > 0, b_is_whole = width_b > 0 && height_b > 0;
    if (a_is_whole && (!b_is_whole || error(width_a, height_a) < error(width_b, height_b))) {
      resized = {width_a, rounded(width_a / image_ratio)};
    } else {
      resized = {rounded(height_b * image_ratio), height_b};
    }
  }
  const auto down = [&](int side) { return side - side % static_cast<int>(step_); };
  const Size bucket{down(resized.width), down(resized.height)};
  if (bucket.width == 0 || bucket.height == 0) {
    throw Error(ErrorKind::dataset,
                format("with bucket_no_upscale the image of {}x{} pixels becomes {}x{}, and a side is smaller than "
                       "bucket_reso_steps ({})",
                       image.width, image.height, resized.width, resized.height, step_));
  }
  return {bucket, resized, ratio(bucket) - image_ratio};
}

}  // namespace lathe::dataset
