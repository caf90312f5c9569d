#pragma once

#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "core/models/common/linear.h"
#include "core/models/common/weight_table.h"
#include "core/models/qwen3/qwen3.h"

namespace lathe::models::qwen3 {

// h · rsqrt(mean(h²) + eps) in fp32, rounded to x's dtype, times the weight.
struct RmsNorm {
  at::Tensor weight;
  double eps = 1e-6;
  at::Tensor operator()(const at::Tensor& x) const;
};

// Angles of the rotary embedding for positions 0 … length − 1: [length, head_size] in `dtype`.
struct Rotary {
  at::Tensor cos, sin;
};
Rotary make_rotary(std::int64_t length, const Qwen3Sizes& sizes, at::ScalarType dtype, at::Device device);

// One decoder layer: causal grouped-query attention and a gated MLP, both pre-norm with residuals. Its weights are
// filled in through weights().
class Layer {
 public:
  explicit Layer(const Qwen3Sizes& sizes);
  Layer(const Layer&) = delete;
  Layer& operator=(const Layer&) = delete;

  // x: [B, S, hidden]; padding, if any, stands to the right of all tokens.
  at::Tensor forward(const at::Tensor& x, const Rotary& rotary) const;
  const WeightTable& weights() const { return weights_; }
  // In the reference's registration order; `prefix` with its dot.
  void append_linears(const std::string& prefix, std::vector<NamedLinear>& linears) const;

 private:
  at::Tensor attention(const at::Tensor& x, const Rotary& rotary) const;

  std::int64_t heads_, kv_heads_, head_size_;
  Linear q_proj_, k_proj_, v_proj_, o_proj_;
  RmsNorm q_norm_, k_norm_;
  Linear gate_proj_, up_proj_, down_proj_;
  RmsNorm input_norm_, post_attention_norm_;
  WeightTable weights_;
};

}  // namespace lathe::models::qwen3
