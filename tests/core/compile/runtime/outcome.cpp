#include "tests/core/compile/runtime/outcome.h"

#include <ATen/ATen.h>
#include <ATen/autocast_mode.h>
#include <torch/csrc/autograd/autograd.h>

#include "core/base/format.h"
#include "core/compile/aten/autocast.h"

namespace lathe::testing {

using models::Tensors;

Outcome outcome(const std::function<Tensors(std::span<const at::Tensor>)>& forward, const Tensors& inputs,
                const Tensors& parameters, bool autocast) {
  for (const auto* list : {&inputs, &parameters}) {
    for (const at::Tensor& tensor : *list) {
      if (tensor.defined() && tensor.is_leaf()) tensor.mutable_grad() = at::Tensor();
    }
  }
  at::manual_seed(5);
  Tensors outputs;
  {
    aten::AutocastMode mode = aten::AutocastMode::now();
    mode.cpu = autocast;
    const aten::AutocastScope scope(mode);
    outputs = forward(inputs);
  }
  at::autocast::clear_cache();

  at::Tensor loss = at::zeros({});
  for (const at::Tensor& output : outputs) {
    if (!output.defined() || !output.requires_grad()) continue;
    const at::Tensor weights = at::sin(at::arange(output.numel(), at::kFloat)).view(output.sizes());
    loss = loss + (output.to(at::kFloat) * weights).sum();
  }
  if (loss.requires_grad()) torch::autograd::backward({loss});

  Outcome result;
  for (const at::Tensor& output : outputs)
    result.outputs.push_back(output.defined() ? output.detach().clone() : at::Tensor());
  for (const auto* list : {&inputs, &parameters}) {
    for (const at::Tensor& tensor : *list) {
      const bool has_gradient = tensor.defined() && tensor.is_leaf() && tensor.grad().defined();
      result.gradients.push_back(has_gradient ? tensor.grad().clone() : at::Tensor());
      result.contents.push_back(tensor.defined() ? tensor.detach().clone() : at::Tensor());
    }
  }
  return result;
}

std::string difference(const Outcome& seen, const Outcome& expected) {
  const auto compare = [](const char* what, const Tensors& a, const Tensors& b) -> std::string {
    if (a.size() != b.size()) return format("{} → {} {}s", b.size(), a.size(), what);
    for (std::size_t i = 0; i < a.size(); ++i) {
      if (a[i].defined() != b[i].defined()) return format("{} {} is {}", what, i, a[i].defined() ? "new" : "missing");
      if (!a[i].defined()) continue;
      if (a[i].scalar_type() != b[i].scalar_type() || a[i].sizes() != b[i].sizes())
        return format("{} {} has another dtype or size", what, i);
      if (at::equal(a[i], b[i]) || at::allclose(a[i], b[i], 0.0, 0.0, /*equal_nan=*/true)) continue;
      return format("{} {} is off by {}", what, i,
                    (a[i].to(at::kDouble) - b[i].to(at::kDouble)).abs().max().item<double>());
    }
    return "";
  };
  for (const std::string& text :
       {compare("output", seen.outputs, expected.outputs), compare("gradient", seen.gradients, expected.gradients),
        compare("content", seen.contents, expected.contents)}) {
    if (!text.empty()) return text;
  }
  return "";
}

}  // namespace lathe::testing
