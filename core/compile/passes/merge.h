#pragma once

#include "core/compile/ir/graph.h"

namespace lathe::passes {

// Narrow products of the forward that share their left operand, as the down projections of the low-rank adapters on q,
// k and v do, become one: x [A₁ᵀ A₂ᵀ …], of which each is a slice. Such a product is limited by reading x, so three
// cost what one costs. Wide ones gain nothing and would copy their weights. Merged only where each result is read by
// products and element-wise operators alone, which take rows with a pitch. Gradients stay as they are. Returns whether
// the graph changed.
bool merge_products(ir::Graph& graph);

}  // namespace lathe::passes
