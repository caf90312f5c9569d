#include "core/dataset/pillow_resize.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstddef>
#include <numbers>

namespace lathe::dataset {

namespace {

constexpr int kFractionBits = 22;  // 8 bits of pixel, 2 of headroom for the negative lobes

double sinc(double x) {
  if (x == 0.0) return 1.0;
  x *= std::numbers::pi;
  return std::sin(x) / x;
}

double lanczos(double x) {
  return -3.0 <= x && x < 3.0 ? sinc(x) * sinc(x / 3) : 0.0;
}

double box(double x) {
  return -0.5 < x && x <= 0.5 ? 1.0 : 0.0;
}

// The source pixels of one output pixel and their fixed-point weights.
struct Taps {
  int first = 0;
  std::vector<std::int32_t> weights;
};

std::vector<Taps> taps_of_axis(int from, int to, PillowFilter filter) {
  const double scale = static_cast<double>(from) / to;
  const double filter_scale = std::max(scale, 1.0);
  const double support = (filter == PillowFilter::lanczos ? 3.0 : 0.5) * filter_scale;
  const double inverse = 1.0 / filter_scale;

  std::vector<Taps> axis(static_cast<std::size_t>(to));
  std::vector<double> weights;
  for (int i = 0; i < to; ++i) {
    const double centre = (i + 0.5) * scale;
    const int first = std::max(static_cast<int>(centre - support + 0.5), 0);
    const int end = std::min(static_cast<int>(centre + support + 0.5), from);

    weights.clear();
    double sum = 0.0;
    for (int j = first; j < end; ++j) {
      const double x = (j - centre + 0.5) * inverse;
      weights.push_back(filter == PillowFilter::lanczos ? lanczos(x) : box(x));
      sum += weights.back();
    }
    Taps& taps = axis[static_cast<std::size_t>(i)];
    taps.first = first;
    for (double weight : weights) {
      if (sum != 0.0) weight /= sum;
      const double fixed = weight * (1 << kFractionBits);
      taps.weights.push_back(static_cast<std::int32_t>(fixed < 0 ? fixed - 0.5 : fixed + 0.5));
    }
  }
  return axis;
}

std::uint8_t to_byte(std::int32_t sum) {
  return static_cast<std::uint8_t>(std::clamp(sum >> kFractionBits, std::int32_t{0}, std::int32_t{255}));
}

constexpr std::int32_t kHalf = 1 << (kFractionBits - 1);

std::vector<std::uint8_t> horizontal(std::span<const std::uint8_t> pixels, Size from, int width, int channels,
                                     PillowFilter filter) {
  const std::vector<Taps> axis = taps_of_axis(from.width, width, filter);
  const auto step = static_cast<std::size_t>(channels);
  std::vector<std::uint8_t> result(static_cast<std::size_t>(width) * static_cast<std::size_t>(from.height) * step);
  std::uint8_t* out = result.data();
  for (std::size_t y = 0; y < static_cast<std::size_t>(from.height); ++y) {
    const std::uint8_t* row = pixels.data() + y * static_cast<std::size_t>(from.width) * step;
    for (const Taps& taps : axis) {
      std::int32_t sums[4] = {kHalf, kHalf, kHalf, kHalf};
      const std::uint8_t* in = row + static_cast<std::size_t>(taps.first) * step;
      for (const std::int32_t weight : taps.weights) {
        for (std::size_t c = 0; c < step; ++c) sums[c] += weight * in[c];
        in += step;
      }
      for (std::size_t c = 0; c < step; ++c) *out++ = to_byte(sums[c]);
    }
  }
  return result;
}

std::vector<std::uint8_t> vertical(std::span<const std::uint8_t> pixels, Size from, int height, int channels,
                                   PillowFilter filter) {
  const std::size_t row_bytes = static_cast<std::size_t>(from.width) * static_cast<std::size_t>(channels);
  std::vector<std::uint8_t> result(row_bytes * static_cast<std::size_t>(height));
  std::vector<std::int32_t> sums(row_bytes);
  std::uint8_t* out = result.data();
  for (const Taps& taps : taps_of_axis(from.height, height, filter)) {
    std::ranges::fill(sums, kHalf);
    const std::uint8_t* in = pixels.data() + static_cast<std::size_t>(taps.first) * row_bytes;
    for (const std::int32_t weight : taps.weights) {
      for (std::size_t x = 0; x < row_bytes; ++x) sums[x] += weight * in[x];
      in += row_bytes;
    }
    for (const std::int32_t sum : sums) *out++ = to_byte(sum);
  }
  return result;
}

std::vector<std::uint8_t> premultiplied(std::span<const std::uint8_t> pixels) {
  std::vector<std::uint8_t> result(pixels.begin(), pixels.end());
  for (std::size_t i = 0; i + 3 < result.size(); i += 4) {
    for (std::size_t c = 0; c < 3; ++c) {
      const unsigned product = result[i + c] * unsigned{result[i + 3]} + 128;
      result[i + c] = static_cast<std::uint8_t>(((product >> 8) + product) >> 8);
    }
  }
  return result;
}

void divide_by_alpha(std::vector<std::uint8_t>& pixels) {
  for (std::size_t i = 0; i + 3 < pixels.size(); i += 4) {
    const unsigned alpha = pixels[i + 3];
    if (alpha == 0 || alpha == 255) continue;
    for (std::size_t c = 0; c < 3; ++c) {
      pixels[i + c] = static_cast<std::uint8_t>(std::min(255U * pixels[i + c] / alpha, 255U));
    }
  }
}

}  // namespace

std::vector<std::uint8_t> pillow_resize(std::span<const std::uint8_t> pixels, Size from, Size to, int channels,
                                        PillowFilter filter) {
  assert(channels >= 1 && channels <= 4);
  assert(pixels.size() == static_cast<std::size_t>(from.width) * static_cast<std::size_t>(from.height) *
                              static_cast<std::size_t>(channels));
  if (from == to) return {pixels.begin(), pixels.end()};

  std::vector<std::uint8_t> image =
      channels == 4 ? premultiplied(pixels) : std::vector<std::uint8_t>(pixels.begin(), pixels.end());
  if (to.width != from.width) image = horizontal(image, from, to.width, channels, filter);
  if (to.height != from.height) {
    image = vertical(image, {to.width, from.height}, to.height, channels, filter);
  }
  if (channels == 4) divide_by_alpha(image);
  return image;
}

}  // namespace lathe::dataset
