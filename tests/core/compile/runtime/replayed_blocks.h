#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/compile/passes/partition.h"
#include "core/compile/runtime/block_node.h"
#include "core/compile/runtime/guard.h"
#include "core/models/block.h"

namespace lathe::testing {

// Runs blocks by replaying what was recorded of them: one artifact for each guard that held for none before.
class ReplayedBlocks {
 public:
  explicit ReplayedBlocks(passes::PartitionOptions options = {.rung = passes::Recompute::nothing})
      : options_(std::move(options)) {}

  models::Tensors run(const models::Block& block, std::span<const at::Tensor> inputs);
  models::RunBlock run_block() {
    return [this](const models::Block& block, int, std::span<const at::Tensor> inputs) { return run(block, inputs); };
  }

  int compiles = 0, hits = 0, variants = 0;
  std::vector<std::string> refusals, mismatches, causes;  // causes: why the last artifact did not serve, in English
  std::shared_ptr<const runtime::Artifact> last() const { return served_.empty() ? nullptr : served_.back().artifact; }

 private:
  struct Served {
    runtime::Guard guard;
    std::shared_ptr<const runtime::Artifact> artifact;
  };
  const Served* find(const models::Block& block, std::span<const at::Tensor> inputs, const models::Tensors& parameters);
  runtime::BuiltBlock build(const models::Block& block, std::span<const at::Tensor> inputs, std::uint64_t used_outputs,
                            const passes::PartitionOptions& options, std::string& refused) const;

  passes::PartitionOptions options_;
  std::vector<Served> served_;
};

}  // namespace lathe::testing
