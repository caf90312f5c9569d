#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

#include "core/models/common/linear.h"
#include "core/models/common/weight_table.h"

namespace lathe::models::anima {

// What the blocks know of the time step (spec 1.8), each [B, 1, …].
struct Conditioning {
  at::Tensor sinusoid;   // [B, 1, D]
  at::Tensor embedding;  // e: the sinusoid (not m) through RMSNorm, [B, 1, D]
  at::Tensor shared;     // m: what every modulation adds to its own, [B, 1, 3D]
};

class TimestepEmbedding {
 public:
  TimestepEmbedding(std::int64_t width, at::Device device);
  TimestepEmbedding(const TimestepEmbedding&) = delete;
  TimestepEmbedding& operator=(const TimestepEmbedding&) = delete;

  Conditioning forward(const at::Tensor& timesteps) const;  // [B] in [0, 1], not multiplied by 1000

  WeightTable linears;  // t_embedder.1.*
  WeightTable norm;     // t_embedding_norm.*, last in the state dictionary

 private:
  Linear linear_1_, linear_2_;
  at::Tensor norm_weight_;
  at::Tensor frequencies_;  // [D/2] fp32
};

}  // namespace lathe::models::anima
