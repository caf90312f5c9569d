#pragma once

#include <optional>

#include "core/models/anima/dit.h"
#include "core/models/anima/dit_block.h"
#include "core/models/anima/final_layer.h"
#include "core/models/anima/llm_adapter.h"
#include "core/models/anima/timestep_embedding.h"

namespace lathe::models::anima {

class DitModel : public Dit {
 public:
  // Without weights yet; sections() tells which are wanted.
  DitModel(const DitSizes& sizes, const DitOptions& options);

  void load(StateDict& weights);

  at::Tensor forward(const DitInputs& inputs, const RunBlock& run_block) const override;
  at::Tensor adapt_text(const DitInputs& inputs) const override;
  const DitSizes& sizes() const override { return sizes_; }
  const DitOptions& options() const override { return options_; }
  std::vector<NamedLinear> linears() override;
  const std::vector<std::unique_ptr<Block>>& blocks() const override { return blocks_; }
  const std::vector<std::unique_ptr<Block>>& adapter_blocks() const override;
  NamedTensors state() const override;

  // Every weight, in the order of the state dictionary.
  const std::vector<WeightSection>& sections() const { return sections_; }
  // The three buffers that files hold beside the weights (spec 1.4). They follow from the sizes: reading ignores them.
  NamedTensors rotary_buffers() const;

 private:
  void check(const DitInputs& inputs) const;

  DitSizes sizes_;
  DitOptions options_;
  WeightTable patch_table_;
  Linear patch_embedding_;
  TimestepEmbedding timestep_embedding_;
  std::optional<LlmAdapter> adapter_;
  std::vector<std::unique_ptr<Block>> blocks_;
  FinalLayer final_layer_;
  ImageAngles angles_;
  std::vector<WeightSection> sections_;
};

}  // namespace lathe::models::anima
