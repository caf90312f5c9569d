#pragma once

#include <string>
#include <vector>

#include "core/models/anima/attention.h"
#include "core/models/anima/dit.h"
#include "core/models/anima/modulation.h"
#include "core/models/block.h"

namespace lathe::models::anima {

// One transformer block (spec 1.9).
// Inputs: x [B, T, h, w, D], e [B, T, D], m [B, T, 3D], context [B, N, C], cos and sin [T·h·w, 1, d] fp32.
// Output: x.
class DitBlock : public Block {
 public:
  enum Input { kX, kE, kM, kContext, kCos, kSin, kInputs };

  DitBlock(const DitSizes& sizes, Attention attention);

  Tensors forward(std::span<const at::Tensor> inputs) const override;
  Tensors parameters() const override { return table.parameters(); }
  std::string structure() const override;
  std::vector<VaryingDimension> varying_dimensions() const override;

  WeightTable table;  // without the prefix "blocks.N."

 private:
  std::int64_t width_, head_size_;
  Attention attention_;
  MultiHeadAttention self_attention_, cross_attention_;
  Linear layer1_, layer2_;
  Modulation self_modulation_, cross_modulation_, mlp_modulation_;
};

}  // namespace lathe::models::anima
