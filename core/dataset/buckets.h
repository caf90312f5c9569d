#pragma once

#include <cstdint>
#include <vector>

#include "core/config/dataset_config.h"
#include "core/dataset/manifest.h"

namespace lathe::dataset {

struct BucketLimits {
  std::int64_t smallest = 0, largest = 0;  // pixels, of one side
  bool operator==(const BucketLimits&) const = default;
};

// The reference lowers the smallest side to a multiple of `step` and raises the largest one.
BucketLimits adjusted_limits(std::int64_t smallest, std::int64_t largest, std::int64_t step);

// All buckets of about the area of `resolution`, sorted by (width, height): the square of side floor(√area / step)·step
// (even outside the limits), and for each width of the limits the height floor(floor(area / width) / step)·step, cut to
// the limit, with its mirror.
std::vector<Size> bucket_list(Size resolution, BucketLimits limits, std::int64_t step);

// Says to which bucket an image goes, and how, by the rules of one dataset:
//   bucketing off         the resolution itself is the only bucket
//   bucketing             the listed bucket of the same size, else of the nearest width/height ratio (the first of
//                         equals); the image is scaled to cover it
//   bucket_no_upscale     an image above the area is scaled down to it, keeping its ratio as well as the step allows; a
//                         smaller one keeps its size; the bucket is that size rounded down to the step
class BucketChooser {
 public:
  // Throws Error(settings) where the resolution is missing, lies outside the limits, or the step is not positive.
  explicit BucketChooser(const config::DatasetConfig& config);

  // Throws Error(dataset) where the image has no area, or with bucket_no_upscale a side would be smaller than the step.
  Fit fit(Size image) const;
  // Scales to cover `bucket`: to join a bucket that fit() did not choose.
  static Fit fit_to(Size image, Size bucket);

  const std::vector<Size>& buckets() const { return buckets_; }  // empty with bucket_no_upscale

 private:
  Fit nearest(Size image) const;
  Fit without_upscaling(Size image) const;

  std::vector<Size> buckets_;
  std::int64_t area_ = 0;
  std::int64_t step_ = 0;
  bool no_upscale_ = false;
};

}  // namespace lathe::dataset
