#pragma once

#include <memory>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

namespace lathe::models {

// A product that replaces y = x Wᵀ + b: what an adapter puts in the place of a Linear (the Linear itself stays).
class LinearAdapter {
 public:
  virtual ~LinearAdapter() = default;
  // base(x) plus the adapter's part. `linear` gives the base product.
  virtual at::Tensor forward(const struct Linear& linear, const at::Tensor& x) const = 0;
  virtual std::vector<at::Tensor> parameters() const = 0;
  virtual std::string structure() const = 0;  // rank, dropouts, scale rule: what shapes the path
};

// y = x Wᵀ (+ b) by at::linear (under bf16 its rounding differs from torch::nn::Linear's).
struct Linear {
  at::Tensor weight;  // [out, in]
  at::Tensor bias;    // [out] or undefined
  std::shared_ptr<LinearAdapter> adapter;

  at::Tensor operator()(const at::Tensor& x) const;  // through the adapter where there is one
  at::Tensor base(const at::Tensor& x) const;
  void collect(std::vector<at::Tensor>& parameters) const;  // weight, bias, adapter's
};

// A Linear by its dotted path from the model's root ("blocks.0.self_attn.q_proj") with the class of the module that
// adapters look for ("Block", "LLMAdapterTransformerBlock", "Qwen3Attention" …). In the reference's registration order.
struct NamedLinear {
  std::string name;
  std::string parent_class;
  Linear* linear = nullptr;
};

}  // namespace lathe::models
