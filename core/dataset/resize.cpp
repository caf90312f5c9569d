#include "core/dataset/resize.h"

#include <algorithm>
#include <opencv2/imgproc.hpp>
#include <utility>

#include "core/base/error.h"
#include "core/base/format.h"
#include "core/dataset/crop.h"
#include "core/dataset/pillow_resize.h"

namespace lathe::dataset {

namespace {

constexpr std::pair<std::string_view, Interpolation> kNames[] = {
    {"lanczos", Interpolation::lanczos}, {"box", Interpolation::box},         {"area", Interpolation::area},
    {"bilinear", Interpolation::linear}, {"linear", Interpolation::linear},   {"bicubic", Interpolation::cubic},
    {"cubic", Interpolation::cubic},     {"nearest", Interpolation::nearest},
};

int opencv_flag(Interpolation interpolation) {
  switch (interpolation) {
    case Interpolation::linear:
      return cv::INTER_LINEAR;
    case Interpolation::cubic:
      return cv::INTER_CUBIC;
    case Interpolation::nearest:
      return cv::INTER_NEAREST_EXACT;
    default:
      return cv::INTER_AREA;
  }
}

std::vector<std::uint8_t> opencv_resize(const io::Image& image, Size size, Interpolation interpolation) {
  // Images are loaded by several threads of ours already; OpenCV's own would only compete with them.
  static const bool single_threaded = (cv::setNumThreads(1), true);
  static_cast<void>(single_threaded);

  const int type = CV_8UC(image.channels);
  // OpenCV has no constant view; it only reads from `source`.
  const cv::Mat source(image.height, image.width, type, const_cast<std::uint8_t*>(image.pixels.data()));
  std::vector<std::uint8_t> pixels(static_cast<std::size_t>(size.width) * static_cast<std::size_t>(size.height) *
                                   static_cast<std::size_t>(image.channels));
  cv::Mat target(size.height, size.width, type, pixels.data());
  cv::resize(source, target, {size.width, size.height}, 0, 0, opencv_flag(interpolation));
  return pixels;
}

}  // namespace

std::optional<Interpolation> interpolation_named(std::string_view name) {
  const auto found = std::ranges::find(kNames, name, [](const auto& entry) { return entry.first; });
  return found == std::end(kNames) ? std::nullopt : std::optional(found->second);
}

Interpolation interpolation_of(const config::DatasetConfig& config, std::size_t subset) {
  std::optional<std::string> name = config.subsets.at(subset).resize_interpolation;
  if (!name) name = config.resize_interpolation;
  if (!name) return Interpolation::automatic;
  if (const auto interpolation = interpolation_named(*name)) return *interpolation;
  throw Error(ErrorKind::settings,
              format("resize_interpolation is '{}'; it must be lanczos, box, area, bilinear, linear, bicubic, cubic or "
                     "nearest",
                     *name));
}

io::Image resize(const io::Image& image, Size size, Interpolation interpolation) {
  const Size from{image.width, image.height};
  if (interpolation == Interpolation::automatic) {
    const bool grows = size.width > from.width || size.height > from.height;
    interpolation = grows ? Interpolation::lanczos : Interpolation::area;
  }
  io::Image result{size.width, size.height, image.channels, {}};
  if (interpolation == Interpolation::lanczos || interpolation == Interpolation::box) {
    const PillowFilter filter = interpolation == Interpolation::lanczos ? PillowFilter::lanczos : PillowFilter::box;
    result.pixels = pillow_resize(image.pixels, from, size, image.channels, filter);
  } else {
    result.pixels = opencv_resize(image, size, interpolation);
  }
  return result;
}

io::Image resize_and_crop(const io::Image& image, const Fit& fit, Interpolation interpolation) {
  const bool fits = Size{image.width, image.height} == fit.resized;
  const io::Image resized = fits ? io::Image{} : resize(image, fit.resized, interpolation);
  const io::Image& source = fits ? image : resized;
  const Offset offset = centre_crop(fit);

  io::Image result{fit.bucket.width, fit.bucket.height, image.channels, {}};
  const auto row_bytes = static_cast<std::size_t>(fit.bucket.width) * static_cast<std::size_t>(image.channels);
  result.pixels.reserve(row_bytes * static_cast<std::size_t>(fit.bucket.height));
  for (int y = 0; y < fit.bucket.height; ++y) {
    const std::uint8_t* row = source.at(offset.x, offset.y + y).data();
    result.pixels.insert(result.pixels.end(), row, row + row_bytes);
  }
  return result;
}

}  // namespace lathe::dataset
