#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

namespace lathe::models::anima {

// Rotary position embedding, half-split: component i turns with component i + d/2.

// cos and sin of the angles, [L, 1, d] fp32: they broadcast over batch and heads of [B, L, A, d].
struct Rotation {
  at::Tensor cos, sin;
};
Rotation rotation(const at::Tensor& angles);                        // angles [L, d]
at::Tensor rotate(const at::Tensor& x_blad, const Rotation& turn);  // in the dtype of x, rounded after each operation

// 2i/size for i = 0 … size/2 − 1, fp32: what the bases are raised to, and what files keep as pos_embedder.dim_*_range.
at::Tensor rotary_exponents(std::int64_t size, at::Device device);

// Angles of the image tokens from their frame, row and column (spec 1.7). `rounding` is the dtype that the exponents
// are rounded to: the reference keeps them in a buffer of the base weights' dtype (spec 1.4).
class ImageAngles {
 public:
  struct Extrapolation {
    double frames = 1.0, rows = 4.0, columns = 4.0;
  };
  ImageAngles(std::int64_t head_size, const Extrapolation& extrapolation, at::ScalarType rounding, at::Device device);

  at::Tensor table(std::int64_t frames, std::int64_t rows, std::int64_t columns) const;  // [T·h·w, d] fp32

 private:
  at::Tensor frame_frequencies_, row_frequencies_, column_frequencies_;
};

// Angles of a token sequence (the LLM adapter, spec 1.10); the inverse frequencies are rounded to `rounding`.
class SequenceAngles {
 public:
  SequenceAngles(std::int64_t head_size, at::ScalarType rounding, at::Device device);
  at::Tensor table(std::int64_t length) const;  // [length, d] fp32

 private:
  at::Tensor frequencies_;
};

}  // namespace lathe::models::anima
