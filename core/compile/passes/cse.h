#pragma once

#include "core/compile/ir/graph.h"

namespace lathe::passes {

// Gives nodes with equal operator and operands one result. Autocast casts a tensor anew for each use, so this pays. A
// forward node may serve the backward, not the other way round. Returns whether the graph changed.
bool merge_common_subexpressions(ir::Graph& graph);

}  // namespace lathe::passes
