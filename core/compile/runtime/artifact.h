#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "core/compile/aten/block_graph.h"
#include "core/compile/ir/program.h"
#include "core/compile/runtime/program.h"

namespace lathe::runtime {

// A program and the kernels that it calls.
struct Built {
  ir::Program program;
  std::vector<std::unique_ptr<Kernel>> kernels;
};

// A recorded, partitioned and planned block.
struct BuiltBlock {
  std::shared_ptr<const aten::BlockGraph> block;
  ir::Partition partition;
  Built forward, backward;
  // Of a variant: what the first one's saved values are called here, in their order, −1 for those not read.
  std::vector<ir::ValueId> saved_as;
};

// The block without kernels, each node one call.
BuiltBlock build_replay(aten::BlockGraph block, ir::Partition partition);

// Records and builds the block again for a backward where only some outputs have a gradient (bit i: output i), on the
// values that the first forward saved. `inputs` are those of the call.
using BuildAgain = std::function<BuiltBlock(std::span<const at::Tensor> inputs, std::uint64_t used_outputs)>;

// A backward with what belongs to running it.
struct Backward {
  std::shared_ptr<const aten::BlockGraph> block;
  std::vector<ir::ValueId> saved;  // the artifact's saved values as this graph calls them, −1 for those not read
  std::vector<bool> reads;         // by ir::ValueId: inputs and parameters that it reads
  std::unique_ptr<const Program> program;
  // Of the inputs' and of the parameters' gradients: whether it shows memory that outlives the backward. It then
  // leaves as a copy, for its receiver may write it.
  std::vector<bool> copied_input_gradients, copied_parameter_gradients;
};

// What compiling a block call gave: serves every block of the same structure. Immutable but for the backward variants.
class Artifact {
 public:
  explicit Artifact(BuiltBlock built);

  const aten::BlockGraph& block() const { return *block_; }
  const ir::Partition& partition() const { return partition_; }
  const Program& forward() const { return *forward_; }
  // Where the outputs whose gradient arrives are `used_outputs`. Builds that variant at its first use; Error(internal)
  // where its forward is not this one's.
  const Backward& backward(std::uint64_t used_outputs, std::span<const at::Tensor> inputs,
                           const BuildAgain& again) const;
  std::uint64_t all_outputs() const { return all_outputs_; }  // those with a tangent

  // The value whose memory a value shows; itself where it is no view.
  ir::ValueId shown(ir::ValueId id) const { return shown_[static_cast<std::size_t>(id)]; }
  // Devices whose random generators a mismatch must find as they were: those drawn from before one may come.
  const std::vector<at::Device>& rewound() const { return rewound_; }

 private:
  Backward make_backward(std::shared_ptr<const aten::BlockGraph> block, const ir::Partition& partition, Built built,
                         std::vector<ir::ValueId> saved) const;
  void find_rewound();
  void check_variant(const BuiltBlock& variant) const;

  std::shared_ptr<const aten::BlockGraph> block_;
  ir::Partition partition_;
  std::vector<ir::ValueId> shown_;
  std::unique_ptr<const Program> forward_;
  std::uint64_t all_outputs_ = 0;
  std::vector<at::Device> rewound_;
  mutable std::mutex mutex_;
  mutable std::map<std::uint64_t, Backward> backwards_;  // by used outputs; guarded by mutex_
};

}  // namespace lathe::runtime
