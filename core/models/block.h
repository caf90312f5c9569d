#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

namespace lathe::models {

using Tensors = std::vector<at::Tensor>;

// A dimension of a block's inputs that may vary from call to call, and how: dimension `dim` of input `input` is
// `multiple_of` times something. Dimensions with the same `symbol` are always equal; "h*w" is a product of symbols.
struct VaryingDimension {
  int input = 0, dim = 0;
  std::string symbol;
  std::int64_t multiple_of = 1;
};

// One part of a network that is run, checkpointed, swapped and compiled as a unit. Its output is a function of the
// inputs, the parameters and what structure() says, of nothing else: tables, masks, strengths come as inputs.
class Block {
 public:
  virtual ~Block() = default;

  virtual Tensors forward(std::span<const at::Tensor> inputs) const = 0;
  // Base weights and adapter weights in a fixed order; the same position means the same role in every equal block.
  virtual Tensors parameters() const = 0;
  // Everything that shapes the C++ path and is no tensor: type, heads, eps, adapter ranks and targets, dropout, flags.
  virtual std::string structure() const = 0;
  virtual std::vector<VaryingDimension> varying_dimensions() const { return {}; }
};

// How blocks are called. The model calls it for each of its blocks; the default runs block.forward(inputs). Training
// puts checkpointing, weight swapping and the compiler here, so models know of none of them.
using RunBlock = std::function<Tensors(const Block& block, int index, std::span<const at::Tensor> inputs)>;
Tensors run_eagerly(const Block& block, int index, std::span<const at::Tensor> inputs);

}  // namespace lathe::models
