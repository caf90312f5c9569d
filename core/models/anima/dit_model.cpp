#include "core/models/anima/dit_model.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>

#include "core/base/error.h"
#include "core/base/format.h"
#include "core/models/anima/patch.h"

namespace lathe::models::anima {

namespace {
constexpr std::int64_t kMaximumTokens = 256;  // rows or columns: 4096 pixels
}  // namespace

DitModel::DitModel(const DitSizes& sizes, const DitOptions& options)
    : sizes_(sizes),
      options_(options),
      timestep_embedding_(sizes.width, options.device),
      final_layer_(sizes),
      angles_(sizes.head_size, {sizes.rope_t_extrapolation, sizes.rope_h_extrapolation, sizes.rope_w_extrapolation},
              options.dtype, options.device) {
  patch_table_.add("proj.1", patch_embedding_, sizes.width, (sizes.in_channels + 1) * kPatch * kPatch);
  sections_.push_back({"x_embedder.", "PatchEmbed", &patch_table_});
  sections_.push_back({"t_embedder.1.", "TimestepEmbedding", &timestep_embedding_.linears});
  if (sizes.adapter_blocks > 0) {
    adapter_.emplace(sizes, options.dtype, options.device);
    adapter_->append_sections("llm_adapter.", sections_);
  }
  for (std::int64_t i = 0; i < sizes.blocks; ++i) {
    auto block = std::make_unique<DitBlock>(sizes, options.attention);
    sections_.push_back({format("blocks.{}.", i), "Block", &block->table});
    blocks_.push_back(std::move(block));
  }
  sections_.push_back({"final_layer.", "FinalLayer", &final_layer_.table});
  sections_.push_back({"t_embedding_norm.", "RMSNorm", &timestep_embedding_.norm});
}

void DitModel::load(StateDict& weights) {
  for (const WeightSection& section : sections_) {
    section.table->load(weights, section.prefix, options_.dtype, options_.device);
  }
  for (const auto& [key, tensor] : rotary_buffers()) weights.ignore(key);
}

void DitModel::check(const DitInputs& inputs) const {
  const at::Tensor& x = inputs.x;
  if (x.dim() != 4 || x.size(1) != sizes_.in_channels) {
    throw Error(ErrorKind::internal,
                format("latents of shape {}, expected [B, {}, H, W]", x.sizes().vec(), sizes_.in_channels));
  }
  const std::int64_t rows = x.size(2), columns = x.size(3), limit = kMaximumTokens * kPatch;
  if (rows % kPatch != 0 || columns % kPatch != 0 || rows > limit || columns > limit) {
    throw Error(ErrorKind::settings,
                format("latents of {} × {}: the model takes even sizes up to {} (pixels / 8)", columns, rows, limit));
  }
}

at::Tensor DitModel::adapt_text(const DitInputs& inputs) const {
  if (!adapter_) throw Error(ErrorKind::checkpoint, "this model has no LLM adapter (llm_adapter.*)");
  const at::Tensor y = adapter_->forward(inputs.text, inputs.t5_ids, inputs.t5_mask, inputs.text_mask);
  return y.masked_fill(inputs.t5_mask.eq(0).unsqueeze(-1), 0);
}

at::Tensor DitModel::forward(const DitInputs& inputs, const RunBlock& run_block) const {
  check(inputs);
  const Conditioning time = timestep_embedding_.forward(inputs.timesteps);
  const Rotation turn = rotation(angles_.table(1, inputs.x.size(2) / kPatch, inputs.x.size(3) / kPatch));

  Tensors block_inputs(DitBlock::kInputs);
  block_inputs[DitBlock::kX] = patch_embedding_(patchify(with_padding_channel(inputs.x, inputs.padding_mask)));
  block_inputs[DitBlock::kE] = time.embedding;
  block_inputs[DitBlock::kM] = time.shared;
  block_inputs[DitBlock::kContext] = inputs.t5_ids.defined() ? adapt_text(inputs) : inputs.text;
  block_inputs[DitBlock::kCos] = turn.cos;
  block_inputs[DitBlock::kSin] = turn.sin;
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    block_inputs[DitBlock::kX] = run_block(*blocks_[i], static_cast<int>(i), block_inputs)[0];
  }
  return unpatchify(final_layer_.forward(block_inputs[DitBlock::kX], time.embedding, time.shared));
}

std::vector<NamedLinear> DitModel::linears() {
  std::vector<NamedLinear> all;
  for (const WeightSection& section : sections_) {
    section.table->append_linears(section.prefix, section.parent_class, all);
  }
  return all;
}

const std::vector<std::unique_ptr<Block>>& DitModel::adapter_blocks() const {
  static const std::vector<std::unique_ptr<Block>> none;
  return adapter_ ? adapter_->blocks() : none;
}

NamedTensors DitModel::state() const {
  NamedTensors all;
  for (const WeightSection& section : sections_) section.table->append_state(section.prefix, all);
  return all;
}

NamedTensors DitModel::rotary_buffers() const {
  const std::int64_t side = sizes_.head_size / 6 * 2, frames = sizes_.head_size - 2 * side;
  return {{"pos_embedder.seq", at::arange(kMaximumTokens, at::TensorOptions().dtype(at::kFloat))},
          {"pos_embedder.dim_spatial_range", rotary_exponents(side, at::kCPU)},
          {"pos_embedder.dim_temporal_range", rotary_exponents(frames, at::kCPU)}};
}

}  // namespace lathe::models::anima
