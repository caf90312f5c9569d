#pragma once

#include "core/compile/ir/graph.h"

namespace lathe::passes {

// Drops nodes whose results nobody reads. Draws of random numbers stay (eager draws them, too), and so do reads into
// C++ (they are guards). Returns whether the graph changed.
bool remove_dead_code(ir::Graph& graph);

}  // namespace lathe::passes
