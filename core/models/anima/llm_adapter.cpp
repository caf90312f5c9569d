#include "core/models/anima/llm_adapter.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/gelu.h>

#include "core/base/format.h"
#include "core/models/anima/norm.h"

namespace lathe::models::anima {

namespace {
std::int64_t adapter_head_size(const DitSizes& sizes) {
  return sizes.adapter_width / sizes.adapter_heads;
}
}  // namespace

LlmAdapterBlock::LlmAdapterBlock(const DitSizes& sizes)
    : width_(sizes.adapter_width),
      head_size_(adapter_head_size(sizes)),
      self_attention_(MultiHeadAttention::Kind::adapter, head_size_),
      cross_attention_(MultiHeadAttention::Kind::adapter, head_size_) {
  table.add("norm_self_attn.weight", norm_self_, {width_});
  self_attention_.register_in(table, "self_attn", width_, width_);
  table.add("norm_cross_attn.weight", norm_cross_, {width_});
  cross_attention_.register_in(table, "cross_attn", width_, sizes.adapter_source_width);
  table.add("norm_mlp.weight", norm_mlp_, {width_});
  table.add("mlp.0", up_, sizes.adapter_mlp_width, width_, /*bias=*/true);
  table.add("mlp.2", down_, width_, sizes.adapter_mlp_width, /*bias=*/true);
}

Tensors LlmAdapterBlock::forward(std::span<const at::Tensor> inputs) const {
  const at::Tensor& source = inputs[kSource];
  const Rotation turn_target{inputs[kCosTarget], inputs[kSinTarget]};
  const Rotation turn_source{inputs[kCosSource], inputs[kSinSource]};
  const KeyMask target_mask{inputs[kTargetAllowed], inputs[kTargetDead]};
  const KeyMask source_mask{inputs[kSourceAllowed], inputs[kSourceDead]};

  at::Tensor x = inputs[kX];
  const at::Tensor z = adapter_rms_norm(x, norm_self_);
  x = x + self_attention_.forward(z, z, &turn_target, &turn_target, &target_mask, Attention::torch);
  x = x + cross_attention_.forward(adapter_rms_norm(x, norm_cross_), source, &turn_target, &turn_source, &source_mask,
                                   Attention::torch);
  x = x + down_(at::gelu(up_(adapter_rms_norm(x, norm_mlp_))));
  return {x};
}

std::string LlmAdapterBlock::structure() const {
  return format("anima.LLMAdapterTransformerBlock width={} head={}{}", width_, head_size_, table.adapters());
}

std::vector<VaryingDimension> LlmAdapterBlock::varying_dimensions() const {
  return {{kX, 0, "B"},
          {kX, 1, "N"},
          {kSource, 0, "B"},
          {kSource, 1, "S"},
          {kCosTarget, 0, "N"},
          {kSinTarget, 0, "N"},
          {kCosSource, 0, "S"},
          {kSinSource, 0, "S"},
          {kTargetAllowed, 0, "B"},
          {kTargetAllowed, 3, "N"},
          {kTargetDead, 0, "B"},
          {kSourceAllowed, 0, "B"},
          {kSourceAllowed, 3, "S"},
          {kSourceDead, 0, "B"}};
}

LlmAdapter::LlmAdapter(const DitSizes& sizes, at::ScalarType dtype, at::Device device)
    : angles_(adapter_head_size(sizes), dtype, device) {
  head_.add("embed.weight", embed_, {sizes.adapter_vocabulary, sizes.adapter_width});
  for (std::int64_t i = 0; i < sizes.adapter_blocks; ++i) {
    auto block = std::make_unique<LlmAdapterBlock>(sizes);
    block_tables_.push_back(&block->table);
    blocks_.push_back(std::move(block));
  }
  tail_.add("out_proj", out_proj_, sizes.text_width, sizes.adapter_width, /*bias=*/true);
  tail_.add("norm.weight", norm_, {sizes.text_width});
}

at::Tensor LlmAdapter::forward(const at::Tensor& source, const at::Tensor& ids, const at::Tensor& target_mask,
                               const at::Tensor& source_mask) const {
  const Rotation turn_target = rotation(angles_.table(ids.size(1)));
  const Rotation turn_source = rotation(angles_.table(source.size(1)));
  const KeyMask targets = KeyMask::from(target_mask), sources = KeyMask::from(source_mask);
  Tensors inputs(LlmAdapterBlock::kInputs);
  inputs[LlmAdapterBlock::kX] = at::embedding(embed_, ids.to(at::kLong));
  inputs[LlmAdapterBlock::kSource] = source;
  inputs[LlmAdapterBlock::kCosTarget] = turn_target.cos;
  inputs[LlmAdapterBlock::kSinTarget] = turn_target.sin;
  inputs[LlmAdapterBlock::kCosSource] = turn_source.cos;
  inputs[LlmAdapterBlock::kSinSource] = turn_source.sin;
  inputs[LlmAdapterBlock::kTargetAllowed] = targets.allowed;
  inputs[LlmAdapterBlock::kTargetDead] = targets.dead;
  inputs[LlmAdapterBlock::kSourceAllowed] = sources.allowed;
  inputs[LlmAdapterBlock::kSourceDead] = sources.dead;
  for (const auto& block : blocks_) inputs[LlmAdapterBlock::kX] = block->forward(inputs)[0];
  return adapter_rms_norm(out_proj_(inputs[LlmAdapterBlock::kX]), norm_);
}

void LlmAdapter::append_sections(const std::string& prefix, std::vector<WeightSection>& sections) const {
  sections.push_back({prefix, "LLMAdapter", &head_});
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    sections.push_back({format("{}blocks.{}.", prefix, i), "LLMAdapterTransformerBlock", block_tables_[i]});
  }
  sections.push_back({prefix, "LLMAdapter", &tail_});
}

}  // namespace lathe::models::anima
