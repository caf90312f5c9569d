#include "core/models/anima/attention.h"

#include <optional>
#include <vector>

#include <ATen/ops/cat.h>
#include <ATen/ops/scaled_dot_product_attention.h>

#include "core/models/anima/norm.h"

namespace lathe::models::anima {

KeyMask KeyMask::from(const at::Tensor& mask) {
  const at::Tensor attended = mask.ne(0).unsqueeze(1).unsqueeze(1);
  const at::Tensor dead = attended.any(-1, /*keepdim=*/true).logical_not();
  return {attended.logical_or(dead), dead};
}

namespace {
at::Tensor attend_all(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const KeyMask* mask) {
  const std::optional<at::Tensor> allowed = mask != nullptr ? std::optional(mask->allowed) : std::nullopt;
  at::Tensor y = at::scaled_dot_product_attention(q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2), allowed);
  if (mask != nullptr) y = y.masked_fill(mask->dead, 0);
  return y.transpose(1, 2).flatten(2);
}
}  // namespace

at::Tensor attend(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const KeyMask* mask, Attention split) {
  if (split == Attention::torch) return attend_all(q, k, v, mask);
  const std::int64_t queries = q.size(1);
  std::vector<at::Tensor> samples;
  for (std::int64_t i = 0; i < q.size(0); ++i) {
    const auto sample = [&](const at::Tensor& x) { return x.narrow(0, i, 1).slice(1, 0, queries); };
    samples.push_back(attend_all(sample(q), sample(k), sample(v), nullptr));
  }
  return at::cat(samples, 0);
}

void MultiHeadAttention::register_in(WeightTable& table, const std::string& name, std::int64_t width,
                                     std::int64_t context_width) {
  table.add(name + ".q_proj", q_proj_, width, width);
  table.add(name + ".q_norm.weight", q_norm_, {head_size_});
  table.add(name + ".k_proj", k_proj_, width, context_width);
  table.add(name + ".k_norm.weight", k_norm_, {head_size_});
  table.add(name + ".v_proj", v_proj_, width, context_width);
  table.add(name + (kind_ == Kind::transformer ? ".output_proj" : ".o_proj"), output_proj_, width, width);
}

at::Tensor MultiHeadAttention::norm(const at::Tensor& x, const at::Tensor& weight) const {
  return kind_ == Kind::transformer ? transformer_rms_norm(x, weight) : adapter_rms_norm(x, weight);
}

at::Tensor MultiHeadAttention::forward(const at::Tensor& x, const at::Tensor& context, const Rotation* turn_q,
                                       const Rotation* turn_k, const KeyMask* mask, Attention split) const {
  const auto heads = [&](const at::Tensor& y) { return y.unflatten(-1, {-1, head_size_}); };
  at::Tensor q = norm(heads(q_proj_(x)), q_norm_);
  at::Tensor k = norm(heads(k_proj_(context)), k_norm_);
  const at::Tensor v = heads(v_proj_(context));
  if (turn_q != nullptr) q = rotate(q, *turn_q);
  if (turn_k != nullptr) k = rotate(k, *turn_k);
  return output_proj_(attend(q, k, v, mask, split));
}

}  // namespace lathe::models::anima
