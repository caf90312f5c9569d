#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "core/models/block.h"

// Blocks that do what makes recording and compiling hard, one thing each.
namespace lathe::testing {

using BlockForward =
    std::function<models::Tensors(std::span<const at::Tensor> inputs, const models::Tensors& parameters)>;

class FunctionBlock : public models::Block {
 public:
  FunctionBlock(std::string structure, models::Tensors parameters, BlockForward forward)
      : structure_(std::move(structure)), parameters_(std::move(parameters)), forward_(std::move(forward)) {}

  models::Tensors forward(std::span<const at::Tensor> inputs) const override { return forward_(inputs, parameters_); }
  models::Tensors parameters() const override { return parameters_; }
  std::string structure() const override { return structure_; }

 private:
  std::string structure_;
  models::Tensors parameters_;  // buffers among them
  BlockForward forward_;
};

struct BlockCase {
  std::unique_ptr<models::Block> block;
  models::Tensors inputs;
};

// The names of the cases below, which make_block makes; the same name gives the same numbers.
std::vector<std::string> block_names();
BlockCase make_block(const std::string& name);

// y = drop(tanh(x W)) computed again in the backward, with the random state set back: checkpointing inside a block.
at::Tensor checkpointed_layer(const at::Tensor& x, const at::Tensor& weight, double dropout);
// y = x², by a function whose gradient is written by hand.
at::Tensor squared(const at::Tensor& x);

}  // namespace lathe::testing
