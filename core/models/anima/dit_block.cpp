#include "core/models/anima/dit_block.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/gelu.h>

#include "core/base/format.h"

namespace lathe::models::anima {

DitBlock::DitBlock(const DitSizes& sizes, Attention attention)
    : width_(sizes.width),
      head_size_(sizes.head_size),
      attention_(attention),
      self_attention_(MultiHeadAttention::Kind::transformer, sizes.head_size),
      cross_attention_(MultiHeadAttention::Kind::transformer, sizes.head_size) {
  self_attention_.register_in(table, "self_attn", width_, width_);
  cross_attention_.register_in(table, "cross_attn", width_, sizes.text_width);
  table.add("mlp.layer1", layer1_, sizes.mlp_width, width_);
  table.add("mlp.layer2", layer2_, width_, sizes.mlp_width);
  self_modulation_.register_in(table, "adaln_modulation_self_attn", width_, sizes.adaln_rank, 3);
  cross_modulation_.register_in(table, "adaln_modulation_cross_attn", width_, sizes.adaln_rank, 3);
  mlp_modulation_.register_in(table, "adaln_modulation_mlp", width_, sizes.adaln_rank, 3);
}

Tensors DitBlock::forward(std::span<const at::Tensor> inputs) const {
  const at::Tensor &e = inputs[kE], &m = inputs[kM], &context = inputs[kContext];
  const Rotation turn{inputs[kCos], inputs[kSin]};
  at::Tensor x = keeps_residual_in_float(m) ? inputs[kX].to(at::kFloat) : inputs[kX];

  const auto shifted = [&](const std::vector<at::Tensor>& part) { return modulated_norm(x, part[0], part[1]); };
  const auto tokens = [](const at::Tensor& grid) { return grid.flatten(1, 3); };
  const auto add = [&](const at::Tensor& gate, const at::Tensor& y) { x = x + gate * y.reshape(x.sizes()); };

  const std::vector<at::Tensor> self = self_modulation_.forward(e, m);
  const at::Tensor z = tokens(shifted(self));
  add(self[2], self_attention_.forward(z, z, &turn, &turn, nullptr, attention_));

  const std::vector<at::Tensor> cross = cross_modulation_.forward(e, m);
  // The padding rows of the context take part in the softmax: they are an attention sink, never a mask.
  add(cross[2], cross_attention_.forward(tokens(shifted(cross)), context, nullptr, nullptr, nullptr, attention_));

  const std::vector<at::Tensor> mlp = mlp_modulation_.forward(e, m);
  add(mlp[2], layer2_(at::gelu(layer1_(shifted(mlp)))));
  return {x};
}

std::string DitBlock::structure() const {
  return format("anima.Block width={} head={} attention={}{}", width_, head_size_,
                attention_ == Attention::torch ? "torch" : "split", table.adapters());
}

std::vector<VaryingDimension> DitBlock::varying_dimensions() const {
  return {{kX, 0, "B"},       {kX, 2, "h"},       {kX, 3, "w"},     {kE, 0, "B"},    {kM, 0, "B"},
          {kContext, 0, "B"}, {kContext, 1, "N"}, {kCos, 0, "h*w"}, {kSin, 0, "h*w"}};
}

}  // namespace lathe::models::anima
