#pragma once

#include <memory>
#include <vector>

#include "core/models/anima/attention.h"
#include "core/models/anima/dit.h"
#include "core/models/block.h"

namespace lathe::models::anima {

// One block of the adapter (spec 1.10).
// Inputs: x [B, N, C], source [B, S, Cs], cos and sin of the targets [N, 1, d] and of the sources [S, 1, d] fp32, and
// the two key masks. Output: x.
class LlmAdapterBlock : public Block {
 public:
  enum Input {
    kX,
    kSource,
    kCosTarget,
    kSinTarget,
    kCosSource,
    kSinSource,
    kTargetAllowed,
    kTargetDead,
    kSourceAllowed,
    kSourceDead,
    kInputs
  };

  explicit LlmAdapterBlock(const DitSizes& sizes);

  Tensors forward(std::span<const at::Tensor> inputs) const override;
  Tensors parameters() const override { return table.parameters(); }
  std::string structure() const override;
  std::vector<VaryingDimension> varying_dimensions() const override;

  WeightTable table;  // without the prefix "llm_adapter.blocks.N."

 private:
  std::int64_t width_, head_size_;
  at::Tensor norm_self_, norm_cross_, norm_mlp_;
  MultiHeadAttention self_attention_, cross_attention_;
  Linear up_, down_;
};

// Turns text-encoder states (source) into the context of the transformer, one row for each T5 token (target).
class LlmAdapter {
 public:
  LlmAdapter(const DitSizes& sizes, at::ScalarType dtype, at::Device device);
  LlmAdapter(const LlmAdapter&) = delete;
  LlmAdapter& operator=(const LlmAdapter&) = delete;

  // source [B, S, Cs], ids [B, N], masks [B, N] and [B, S] (non-zero = attend) → [B, N, C]. Rows of padded targets are
  // not zeroed here. The blocks run as they are: the reference neither checkpoints nor compiles them.
  at::Tensor forward(const at::Tensor& source, const at::Tensor& ids, const at::Tensor& target_mask,
                     const at::Tensor& source_mask) const;

  // Its weights in the order of the state dictionary.
  void append_sections(const std::string& prefix, std::vector<WeightSection>& sections) const;
  const std::vector<std::unique_ptr<Block>>& blocks() const { return blocks_; }

 private:
  WeightTable head_, tail_;  // before and after the blocks
  at::Tensor embed_, norm_;
  std::vector<std::unique_ptr<Block>> blocks_;
  std::vector<const WeightTable*> block_tables_;
  Linear out_proj_;
  SequenceAngles angles_;
};

}  // namespace lathe::models::anima
