#pragma once

#include <functional>
#include <string>

#include "core/models/block.h"

namespace lathe::testing {

// Everything that a forward and a backward leave behind.
struct Outcome {
  models::Tensors outputs, gradients, contents;  // gradients and contents: of the inputs, then of the parameters
};

// Runs `forward` from a fixed random seed and the backward of a loss that weighs each element of each output
// differently. The gradients of `inputs` and `parameters` are cleared before.
Outcome outcome(const std::function<models::Tensors(std::span<const at::Tensor>)>& forward,
                const models::Tensors& inputs, const models::Tensors& parameters, bool autocast = false);

// The first tensor whose bits differ, with the largest difference; empty where all are equal. NaNs equal each other.
std::string difference(const Outcome& seen, const Outcome& expected);

}  // namespace lathe::testing
