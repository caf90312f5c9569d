#pragma once

#include <cstdint>
#include <string>

#include <ATen/core/Tensor.h>

#include "core/models/anima/dit.h"
#include "core/models/anima/rope.h"
#include "core/models/common/linear.h"
#include "core/models/common/weight_table.h"

namespace lathe::models::anima {

// Which keys may be attended to, prepared so that no row of the softmax is empty: where a sample has no key at all,
// all are allowed and the result is replaced by zeros, in value and gradient, whatever kernel runs.
struct KeyMask {
  at::Tensor allowed;  // bool [B, 1, 1, L]
  at::Tensor dead;     // bool [B, 1, 1, 1]: samples without any key

  static KeyMask from(const at::Tensor& mask);  // [B, L], non-zero = attend
};

// Softmax attention of q, k, v [B, L, A, d] with scale 1/√d → [B, Lq, A·d]. `mask` may be null. `split` goes sample by
// sample and, like the reference, cuts keys and values to the number of queries.
at::Tensor attend(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const KeyMask* mask, Attention split);

// Projections, norm of the heads of q and k, rotation, attention, projection. The transformer and its adapter have the
// same parts; they differ in the name of the last Linear and in the norm.
class MultiHeadAttention {
 public:
  enum class Kind { transformer, adapter };
  MultiHeadAttention(Kind kind, std::int64_t head_size) : kind_(kind), head_size_(head_size) {}
  MultiHeadAttention(const MultiHeadAttention&) = delete;
  MultiHeadAttention& operator=(const MultiHeadAttention&) = delete;

  void register_in(WeightTable& table, const std::string& name, std::int64_t width, std::int64_t context_width);

  // x [B, L, width], context [B, M, context width]. Rotations and mask may be null.
  at::Tensor forward(const at::Tensor& x, const at::Tensor& context, const Rotation* turn_q, const Rotation* turn_k,
                     const KeyMask* mask, Attention split) const;

 private:
  at::Tensor norm(const at::Tensor& x, const at::Tensor& weight) const;

  Kind kind_;
  std::int64_t head_size_;
  Linear q_proj_, k_proj_, v_proj_, output_proj_;
  at::Tensor q_norm_, k_norm_;
};

}  // namespace lathe::models::anima
