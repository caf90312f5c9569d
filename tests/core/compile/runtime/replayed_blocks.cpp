#include "tests/core/compile/runtime/replayed_blocks.h"

#include "core/base/error.h"
#include "core/compile/capture/fallback.h"
#include "core/compile/capture/joint.h"

namespace lathe::testing {

runtime::BuiltBlock ReplayedBlocks::build(const models::Block& block, std::span<const at::Tensor> inputs,
                                          std::uint64_t used_outputs, const passes::PartitionOptions& options,
                                          std::string& refused) const {
  const models::Tensors parameters = block.parameters();
  const capture::Forward forward = [&](std::span<const at::Tensor> own) { return block.forward(own); };
  capture::Recording recording = capture::record_joint({inputs, parameters, forward}, used_outputs);
  refused = recording.refused.value_or("");
  if (recording.refused) return {};
  ir::Partition partition = passes::partition(recording.block.graph, options);
  return runtime::build_replay(std::move(recording.block), std::move(partition));
}

const ReplayedBlocks::Served* ReplayedBlocks::find(const models::Block& block, std::span<const at::Tensor> inputs,
                                                   const models::Tensors& parameters) {
  const std::string structure = block.structure();
  for (const Served& served : served_) {
    if (served.guard.holds(structure, inputs, parameters)) {
      ++hits;
      return &served;
    }
  }
  if (!served_.empty()) causes.push_back(served_.back().guard.why_not(structure, inputs, parameters)->english());
  std::string refused;
  runtime::BuiltBlock built = build(block, inputs, capture::kAllOutputs, options_, refused);
  if (!refused.empty()) {
    refusals.push_back(refused);
    return nullptr;
  }
  ++compiles;
  runtime::Guard guard(*built.block, structure, inputs, parameters);
  served_.push_back({std::move(guard), std::make_shared<const runtime::Artifact>(std::move(built))});
  return &served_.back();
}

models::Tensors ReplayedBlocks::run(const models::Block& block, std::span<const at::Tensor> inputs) {
  if (capture::recording()) return block.forward(inputs);
  const models::Tensors parameters = block.parameters();
  const Served* const served = find(block, inputs, parameters);
  if (served == nullptr) return block.forward(inputs);
  const std::shared_ptr<const runtime::Artifact> artifact = served->artifact;
  const runtime::BuildAgain again = [this, &block, artifact](std::span<const at::Tensor> own, std::uint64_t used) {
    ++variants;
    passes::PartitionOptions options;
    options.forced_saved = artifact->partition().saved;
    std::string refused;
    runtime::BuiltBlock built = build(block, own, used, options, refused);
    if (!refused.empty()) throw Error(ErrorKind::internal, refused);
    built.saved_as = artifact->partition().saved;
    return built;
  };
  auto result = runtime::run_block(artifact, inputs, parameters, again);
  if (auto* outputs = std::get_if<models::Tensors>(&result)) return std::move(*outputs);
  mismatches.push_back(std::get<runtime::Mismatch>(result).text);
  return block.forward(inputs);
}

}  // namespace lathe::testing
