#pragma once

#include <string>
#include <vector>

#include "core/compile/capture/joint.h"
#include "core/compile/ir/text.h"
#include "core/models/block.h"
#include "tests/support/blocks.h"

namespace lathe::testing {

inline capture::Recording record(const models::Block& block, std::span<const at::Tensor> inputs,
                                 std::uint64_t used_outputs = capture::kAllOutputs) {
  const models::Tensors parameters = block.parameters();
  const capture::Forward forward = [&](std::span<const at::Tensor> own) { return block.forward(own); };
  return capture::record_joint({inputs, parameters, forward}, used_outputs);
}

inline capture::Recording record(const BlockCase& example) {
  return record(*example.block, example.inputs);
}

// The operators of a graph's nodes, in order.
inline std::vector<std::string> operators(const ir::Graph& graph, bool backward) {
  std::vector<std::string> names;
  for (const ir::Node& node : graph.nodes) {
    if (node.backward == backward) names.push_back(node.op);
  }
  return names;
}

}  // namespace lathe::testing
