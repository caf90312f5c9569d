#include "core/models/anima/timestep_embedding.h"

#include <cmath>

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/silu.h>

#include "core/models/anima/norm.h"

namespace lathe::models::anima {

TimestepEmbedding::TimestepEmbedding(std::int64_t width, at::Device device) {
  linears.add("linear_1", linear_1_, width, width);
  linears.add("linear_2", linear_2_, 3 * width, width);
  norm.add("weight", norm_weight_, {width});
  const std::int64_t half = width / 2;
  const at::Tensor index = at::arange(half, at::TensorOptions().dtype(at::kFloat).device(device));
  frequencies_ = (index * -std::log(10000.0) / static_cast<double>(half)).exp();
}

Conditioning TimestepEmbedding::forward(const at::Tensor& timesteps) const {
  const at::Tensor angles = timesteps.to(at::kFloat).unsqueeze(1) * frequencies_;
  Conditioning c;
  c.sinusoid = at::cat({angles.cos(), angles.sin()}, 1).to(timesteps.scalar_type()).unsqueeze(1);
  c.embedding = transformer_rms_norm(c.sinusoid, norm_weight_);
  c.shared = linear_2_(at::silu(linear_1_(c.sinusoid)));
  return c;
}

}  // namespace lathe::models::anima
