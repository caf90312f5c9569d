#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/compile/ir/program.h"

namespace lathe::runtime {

// Both directions of a partitioned graph as programs without kernels: every node one call.
struct ReplayPrograms {
  ir::Program forward, backward;
};
ReplayPrograms replay_programs(const ir::Graph& graph, const ir::Partition& partition);

// Of each draw of the graph, whether it comes twice: in the backward what the forward drew.
std::vector<bool> repeated_draws(const ir::Graph& graph, const ir::Partition& partition);

}  // namespace lathe::runtime
