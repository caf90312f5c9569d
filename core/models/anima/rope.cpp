#include "core/models/anima/rope.h"

#include <cmath>

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/outer.h>
#include <ATen/ops/pow.h>
#include <ATen/ops/reciprocal.h>

namespace lathe::models::anima {

namespace {

constexpr double kBase = 10000.0;

at::Tensor image_frequencies(std::int64_t size, double extrapolation, at::ScalarType rounding, at::Device device) {
  const auto length = static_cast<double>(size);
  const double theta = kBase * std::pow(extrapolation, length / (length - 2.0));
  return at::reciprocal(at::pow(theta, rotary_exponents(size, device).to(rounding).to(at::kFloat)));
}

at::Tensor positions_times(const at::Tensor& frequencies, std::int64_t count) {
  return at::outer(at::arange(count, frequencies.options()), frequencies);
}

}  // namespace

Rotation rotation(const at::Tensor& angles) {
  const at::Tensor column = angles.unsqueeze(1);
  return {column.cos(), column.sin()};
}

at::Tensor rotary_exponents(std::int64_t size, at::Device device) {
  return at::arange(0, size, 2, at::TensorOptions().dtype(at::kFloat).device(device)) / static_cast<double>(size);
}

at::Tensor rotate(const at::Tensor& x_blad, const Rotation& turn) {
  const std::int64_t half = x_blad.size(-1) / 2;
  const at::Tensor turned = at::cat({-x_blad.slice(-1, half), x_blad.slice(-1, 0, half)}, -1);
  return x_blad * turn.cos.to(x_blad.scalar_type()) + turned * turn.sin.to(x_blad.scalar_type());
}

ImageAngles::ImageAngles(std::int64_t head_size, const Extrapolation& extrapolation, at::ScalarType rounding,
                         at::Device device) {
  const std::int64_t side = head_size / 6 * 2;
  frame_frequencies_ = image_frequencies(head_size - 2 * side, extrapolation.frames, rounding, device);
  row_frequencies_ = image_frequencies(side, extrapolation.rows, rounding, device);
  column_frequencies_ = image_frequencies(side, extrapolation.columns, rounding, device);
}

at::Tensor ImageAngles::table(std::int64_t frames, std::int64_t rows, std::int64_t columns) const {
  const at::Tensor t = positions_times(frame_frequencies_, frames).view({frames, 1, 1, -1});
  const at::Tensor h = positions_times(row_frequencies_, rows).view({1, rows, 1, -1});
  const at::Tensor w = positions_times(column_frequencies_, columns).view({1, 1, columns, -1});
  const at::Tensor half = at::cat({t.expand({frames, rows, columns, -1}), h.expand({frames, rows, columns, -1}),
                                   w.expand({frames, rows, columns, -1})},
                                  -1);
  return at::cat({half, half}, -1).flatten(0, 2);
}

SequenceAngles::SequenceAngles(std::int64_t head_size, at::ScalarType rounding, at::Device device)
    : frequencies_(at::reciprocal(at::pow(kBase, rotary_exponents(head_size, device))).to(rounding).to(at::kFloat)) {}

at::Tensor SequenceAngles::table(std::int64_t length) const {
  const at::Tensor half = positions_times(frequencies_, length);
  return at::cat({half, half}, -1);
}

}  // namespace lathe::models::anima
