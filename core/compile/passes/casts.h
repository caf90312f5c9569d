#pragma once

#include "core/compile/ir/graph.h"

namespace lathe::passes {

// Whether every value of `from` is a value of `to`.
bool is_exact(ir::DType from, ir::DType to);

// Drops casts that change nothing: there and back through a wider type (also with views between), and the first of two
// where it is exact. Lifts a cast above the reshaping, transposing and expanding views between it and what they show
// where the cast of the whole costs no more, so that equal casts are found equal and an expanded value is cast once.
// Rounding that eager does stays. Returns whether the graph changed; dead nodes are left to remove_dead_code.
bool fold_casts(ir::Graph& graph);

}  // namespace lathe::passes
