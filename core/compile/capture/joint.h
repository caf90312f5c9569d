#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "core/compile/aten/block_graph.h"

namespace lathe::capture {

using Forward = std::function<std::vector<at::Tensor>(std::span<const at::Tensor> inputs)>;

// One call of a block: a function of its inputs and parameters (buffers among them). Undefined tensors are left out of
// the graph; a parameter that is listed twice is one.
struct BlockCall {
  std::span<const at::Tensor> inputs, parameters;
  const Forward& forward;
};

constexpr std::uint64_t kAllOutputs = ~std::uint64_t{0};

struct Recording {
  aten::BlockGraph block;              // empty where refused
  std::optional<std::string> refused;  // why the block cannot be compiled; it then runs as it is
  double seconds = 0.0;
};

// Runs the block once, forward and, in the call's gradient and autocast mode, backward, and records both as one graph.
// Bit i of `used_outputs`: output i gets a gradient; zeros in the place of none would be wrong (the gradient of sqrt at
// 0). Leaves inputs, parameters, buffers, .grad, random generators and the autocast cache as it found them (the cache
// empty). One recording at a time in a process; another waits. A block within the recorded one is part of its graph.
Recording record_joint(const BlockCall& call, std::uint64_t used_outputs = kAllOutputs);

}  // namespace lathe::capture
