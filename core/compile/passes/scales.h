#pragma once

#include "core/compile/ir/graph.h"

namespace lathe::passes {

// (x · s) B → (x B) · s, where s is a power of two, matrix products alone read x · s, and their results are smaller:
// the scaled copy of a gradient, as low-rank adapters have it at each layer, is then never written. Changes no bit of a
// result unless numbers come near the ends of their type's range. Returns whether the graph changed; what is no longer
// read is left to remove_dead_code.
bool sink_scales(ir::Graph& graph);

}  // namespace lathe::passes
