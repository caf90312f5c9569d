#include "core/compile/runtime/artifact.h"

#include <algorithm>
#include <utility>

#include "core/base/error.h"
#include "core/base/format.h"
#include "core/compile/ir/operands.h"
#include "core/compile/ir/ops.h"
#include "core/compile/runtime/replay_program.h"

namespace lathe::runtime {

namespace {

std::vector<ir::ValueId> shown_values(const ir::Graph& graph) {
  std::vector<ir::ValueId> shown(graph.values.size());
  for (std::size_t i = 0; i < shown.size(); ++i) shown[i] = static_cast<ir::ValueId>(i);
  for (const ir::Node& node : graph.nodes) {
    if (ir::kind(node.op) != ir::OpKind::view) continue;
    const ir::ValueId operand = ir::tensor_at(node, 0);
    for (const ir::ValueId id : node.results) {
      if (id >= 0 && operand >= 0) shown[slot(id)] = shown[slot(operand)];
    }
  }
  return shown;
}

// Values that exist when the backward begins and stay when it ends.
std::vector<bool> outliving(const ir::Graph& graph, const ir::Partition& partition) {
  std::vector<bool> outlives(graph.values.size(), false);
  for (std::size_t i = 0; i < outlives.size(); ++i)
    outlives[i] = graph.values[i].origin != ir::Origin::node && graph.values[i].origin != ir::Origin::tangent;
  for (const ir::ValueId id : partition.saved) outlives[slot(id)] = true;
  return outlives;
}

}  // namespace

BuiltBlock build_replay(aten::BlockGraph block, ir::Partition partition) {
  BuiltBlock built{.block = std::make_shared<const aten::BlockGraph>(std::move(block)),
                   .partition = std::move(partition)};
  ReplayPrograms programs = replay_programs(built.block->graph, built.partition);
  built.forward.program = std::move(programs.forward);
  built.backward.program = std::move(programs.backward);
  return built;
}

Artifact::Artifact(BuiltBlock built)
    : block_(std::move(built.block)),
      partition_(std::move(built.partition)),
      shown_(shown_values(block_->graph)),
      forward_(std::make_unique<Program>(block_->graph, std::move(built.forward.program),
                                         std::move(built.forward.kernels), repeated_draws(block_->graph, partition_))) {
  for (const std::int32_t output : block_->tangent_outputs) all_outputs_ |= std::uint64_t{1} << output;
  find_rewound();
  backwards_.emplace(all_outputs_, make_backward(block_, partition_, std::move(built.backward), partition_.saved));
}

void Artifact::find_rewound() {
  std::vector<at::Device> drawn;
  const ir::Graph& graph = block_->graph;
  for (const std::int32_t index : partition_.forward) {
    const ir::Node& node = graph.nodes[slot(index)];
    const auto is_data = [&](const ir::Symbol& symbol) {
      return symbol.from == ir::Symbol::From::data &&
             std::ranges::find(node.results, symbol.value) != node.results.end();
    };
    if (node.draw >= 0 && !node.results.empty() && node.results[0] >= 0)
      drawn.push_back(aten::to_aten(graph.values[slot(node.results[0])].device));
    if (node.read || std::ranges::any_of(graph.symbols, is_data)) rewound_ = drawn;
  }
  std::ranges::sort(rewound_, {}, [](const at::Device& device) { return std::hash<at::Device>()(device); });
  rewound_.erase(std::unique(rewound_.begin(), rewound_.end()), rewound_.end());
}

Backward Artifact::make_backward(std::shared_ptr<const aten::BlockGraph> block, const ir::Partition& partition,
                                 Built built, std::vector<ir::ValueId> saved) const {
  const ir::Graph& graph = block->graph;
  Backward result{.block = block, .saved = std::move(saved), .reads = std::vector<bool>(graph.values.size(), false)};
  for (const ir::ValueId id : partition.read_outside) result.reads[slot(id)] = true;
  result.program = std::make_unique<Program>(graph, std::move(built.program), std::move(built.kernels),
                                             repeated_draws(graph, partition));
  const std::vector<ir::ValueId> shown = shown_values(graph);
  const std::vector<bool> outlives = outliving(graph, partition);
  const auto copied = [&](const std::vector<ir::ValueId>& gradients) {
    std::vector<bool> flags;
    for (const ir::ValueId id : gradients) flags.push_back(id >= 0 && outlives[slot(shown[slot(id)])]);
    return flags;
  };
  result.copied_input_gradients = copied(graph.input_gradients);
  result.copied_parameter_gradients = copied(graph.parameter_gradients);
  return result;
}

// What this forward saved is what the variant's backward starts from.
void Artifact::check_variant(const BuiltBlock& variant) const {
  if (variant.saved_as.size() != partition_.saved.size())
    throw Error(ErrorKind::internal, "the block was built again for other saved values");
  for (std::size_t i = 0; i < partition_.saved.size(); ++i) {
    if (variant.saved_as[i] < 0) continue;
    const ir::Value& ours = block_->graph.values[slot(partition_.saved[i])];
    const ir::Value& theirs = variant.block->graph.values.at(slot(variant.saved_as[i]));
    if (ours.dtype != theirs.dtype || ours.sizes != theirs.sizes || ours.strides != theirs.strides)
      throw Error(ErrorKind::internal, format("recorded again, the block takes another path (saved value {})", i));
  }
}

const Backward& Artifact::backward(std::uint64_t used_outputs, std::span<const at::Tensor> inputs,
                                   const BuildAgain& again) const {
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = backwards_.find(used_outputs); found != backwards_.end()) return found->second;
  }
  if (!again) throw Error(ErrorKind::internal, "a gradient arrives for some outputs of the block only");
  BuiltBlock built = again(inputs, used_outputs);
  check_variant(built);
  Backward variant = make_backward(built.block, built.partition, std::move(built.backward), std::move(built.saved_as));
  const std::lock_guard lock(mutex_);
  return backwards_.try_emplace(used_outputs, std::move(variant)).first->second;
}

}  // namespace lathe::runtime
