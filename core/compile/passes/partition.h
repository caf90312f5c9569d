#pragma once

#include <optional>
#include <vector>

#include "core/compile/ir/program.h"

namespace lathe::passes {

// How much of the forward may run a second time in the backward, from nothing to all.
enum class Recompute : std::uint8_t {
  nothing,   // save all that the backward reads
  cheap,     // no library call twice: no product, no attention; reductions of a row are kept, being small
  products,  // attention (output and log-sum-exp) saved, the rest computed again
  all,       // block inputs only, as gradient checkpointing
};

struct PartitionOptions {
  // Share of the bytes that saving everything takes that may be saved, 0 … 1. Of the cuts that fit, the one that costs
  // the least time is taken; between two rungs of Recompute the products that cost the most time for their bytes are
  // kept. At 1 this is `cheap`, which saves less than everything at next to no cost, since what it repeats is fused.
  double budget = 1.0;
  std::optional<Recompute> rung;  // instead of the budget
  // Save exactly these, as another partition of a graph with the same forward did. Error(internal) where they do not
  // suffice.
  std::optional<std::vector<ir::ValueId>> forced_saved;
};

// Splits the joint graph by a minimum cut over the bytes of its forward values at the sizes of the first recording.
// Random draws, data-dependent results and reads into C++ never run twice.
ir::Partition partition(const ir::Graph& graph, const PartitionOptions& options = {});

}  // namespace lathe::passes
