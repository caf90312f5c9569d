#include "core/models/qwen3/layer.h"

#include <cmath>

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/outer.h>
#include <ATen/ops/pow.h>
#include <ATen/ops/rsqrt.h>
#include <ATen/ops/scaled_dot_product_attention.h>
#include <ATen/ops/silu.h>

namespace lathe::models::qwen3 {
namespace {

// q · cos + [−q₂, q₁] · sin, the halves being the first and the second half of the head.
at::Tensor rotate(const at::Tensor& x, const Rotary& rotary) {
  const std::int64_t half = x.size(-1) / 2;
  const at::Tensor turned = at::cat({-x.narrow(-1, half, half), x.narrow(-1, 0, half)}, -1);
  return x * rotary.cos + turned * rotary.sin;
}

// [B, kv_heads, S, d] → each head repeated for the query heads that it serves.
at::Tensor repeat_heads(const at::Tensor& x, std::int64_t times) {
  if (times == 1) return x;
  const std::int64_t b = x.size(0), heads = x.size(1), s = x.size(2), d = x.size(3);
  return x.unsqueeze(2).expand({b, heads, times, s, d}).reshape({b, heads * times, s, d});
}

}  // namespace

at::Tensor RmsNorm::operator()(const at::Tensor& x) const {
  const at::Tensor h = x.to(at::kFloat);
  const at::Tensor scaled = h * at::rsqrt(h.pow(2).mean(-1, true) + eps);
  return weight * scaled.to(x.scalar_type());
}

Rotary make_rotary(std::int64_t length, const Qwen3Sizes& sizes, at::ScalarType dtype, at::Device device) {
  const auto fp32 = at::TensorOptions().dtype(at::kFloat).device(device);
  const at::Tensor exponent = at::arange(0, sizes.head_size, 2, fp32) / static_cast<double>(sizes.head_size);
  const at::Tensor frequency = 1.0 / at::pow(sizes.rope_theta, exponent);
  const at::Tensor half = at::outer(at::arange(length, fp32), frequency);
  const at::Tensor angle = at::cat({half, half}, -1);
  return {angle.cos().to(dtype), angle.sin().to(dtype)};
}

Layer::Layer(const Qwen3Sizes& sizes) : heads_(sizes.heads), kv_heads_(sizes.kv_heads), head_size_(sizes.head_size) {
  const std::int64_t hidden = sizes.hidden, query = heads_ * head_size_, key_value = kv_heads_ * head_size_;
  const auto norm = [&](const char* name, RmsNorm& module, std::int64_t width) {
    module.eps = sizes.rms_eps;
    weights_.add(name, module.weight, {width});
  };
  weights_.add("self_attn.q_proj", q_proj_, query, hidden);
  weights_.add("self_attn.k_proj", k_proj_, key_value, hidden);
  weights_.add("self_attn.v_proj", v_proj_, key_value, hidden);
  weights_.add("self_attn.o_proj", o_proj_, hidden, query);
  norm("self_attn.q_norm.weight", q_norm_, head_size_);
  norm("self_attn.k_norm.weight", k_norm_, head_size_);
  weights_.add("mlp.gate_proj", gate_proj_, sizes.mlp, hidden);
  weights_.add("mlp.up_proj", up_proj_, sizes.mlp, hidden);
  weights_.add("mlp.down_proj", down_proj_, hidden, sizes.mlp);
  norm("input_layernorm.weight", input_norm_, hidden);
  norm("post_attention_layernorm.weight", post_attention_norm_, hidden);
}

at::Tensor Layer::attention(const at::Tensor& x, const Rotary& rotary) const {
  const std::int64_t b = x.size(0), s = x.size(1);
  const auto split = [&](const at::Tensor& y, std::int64_t heads) { return y.view({b, s, heads, head_size_}); };
  const at::Tensor q = rotate(q_norm_(split(q_proj_(x), heads_)).transpose(1, 2), rotary);
  const at::Tensor k = rotate(k_norm_(split(k_proj_(x), kv_heads_)).transpose(1, 2), rotary);
  const at::Tensor v = split(v_proj_(x), kv_heads_).transpose(1, 2);
  const std::int64_t times = heads_ / kv_heads_;
  const at::Tensor out = at::scaled_dot_product_attention(q, repeat_heads(k, times), repeat_heads(v, times),
                                                          /*attn_mask=*/{}, /*dropout_p=*/0.0, /*is_causal=*/true);
  return o_proj_(out.transpose(1, 2).reshape({b, s, heads_ * head_size_}));
}

at::Tensor Layer::forward(const at::Tensor& x, const Rotary& rotary) const {
  const at::Tensor attended = x + attention(input_norm_(x), rotary);
  const at::Tensor h = post_attention_norm_(attended);
  return attended + down_proj_(at::silu(gate_proj_(h)) * up_proj_(h));
}

void Layer::append_linears(const std::string& prefix, std::vector<NamedLinear>& linears) const {
  std::vector<NamedLinear> own;
  weights_.append_linears("", "", own);
  for (NamedLinear& linear : own) {
    linear.parent_class = linear.name.starts_with("mlp.") ? "Qwen3MLP" : "Qwen3Attention";
    linear.name = prefix + linear.name;
    linears.push_back(std::move(linear));
  }
}

}  // namespace lathe::models::qwen3
