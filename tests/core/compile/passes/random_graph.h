#pragma once

#include "core/compile/ir/graph.h"

namespace lathe::testing {

// A graph of `nodes` operators picked by chance among pointwise ones, views, reductions and movement, on values of
// symbolic and plain sizes, each result laid out row-major or transposed; nothing grows beyond a few units. With `half`
// some values are bf16. Every value that nobody reads is an output.
ir::Graph random_graph(unsigned seed, int nodes, bool half);

}  // namespace lathe::testing
