#pragma once

#include <optional>

#include "core/compile/ir/graph.h"

namespace lathe::passes {

// Replaces what changes nothing by its operand: views that show all of what they view in the same way (a transpose of a
// transpose, a slice of the whole, detach), casts to the same type, clones with the same layout, additions of 0,
// products and quotients by 1, first powers; and lets a view of a view look at the first where both are dense. A result
// of the graph that eager gives memory of its own never becomes another name of an input. Returns whether the graph
// changed; dead nodes are left to remove_dead_code.
bool fold(ir::Graph& graph);

// The number that every element of the value has: zeros, ones, full, scalar_tensor and views and casts of them.
std::optional<double> uniform_number(const ir::Graph& graph, ir::ValueId id);

}  // namespace lathe::passes
