#pragma once

#include <ATen/core/Tensor.h>

namespace lathe::models::anima {

inline constexpr double kNormEps = 1e-6;

// The two RMSNorms of Anima, over the last axis. Both take statistics in fp32; they differ in what is rounded when
// (spec 1.9 and 1.10), which shows in fp16 and bf16.
// Transformer: the normalised value is rounded to x's dtype, then multiplied by the weight.
at::Tensor transformer_rms_norm(const at::Tensor& x, const at::Tensor& weight);
// Adapter: it is rounded to the weight's dtype where that is fp16 or bf16, then multiplied.
at::Tensor adapter_rms_norm(const at::Tensor& x, const at::Tensor& weight);

// LayerNorm over the last axis without weights. fp32 under CUDA autocast, x's dtype otherwise.
at::Tensor layer_norm(const at::Tensor& x);

}  // namespace lathe::models::anima
