#pragma once

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

#include "core/compile/ir/graph.h"

namespace lathe::aten {

// The joint graph of a block call and how it binds to the tensors of a block of the same structure.
struct BlockGraph {
  ir::Graph graph;
  std::vector<at::Tensor> constants;  // one for each of graph.constants; held, guarded by impl and version
  std::vector<std::int32_t> inputs;   // graph.inputs[k] is input inputs[k] of the block (undefined ones are left out)
  std::vector<std::int32_t> parameters;       // graph.parameters[k] stands first at parameters[k] of the block's list
  std::vector<std::int32_t> tangent_outputs;  // graph.tangents[k] is the gradient of output tangent_outputs[k]
  std::vector<bool> output_needs_gradient;    // of each output, views of inputs included
};

}  // namespace lathe::aten
