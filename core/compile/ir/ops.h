#pragma once

#include <cstdint>
#include <string_view>

#include "core/compile/ir/graph.h"

namespace lathe::ir {

// Primitives: what is left of the compound operators after passes/decompose, ATen calls all of them, so that a graph
// can be replayed at any time. Along the last dimension: sum.dim_IntList, mean.dim, amax, cumsum. Element by element:
// what passes/lowering.cpp lists, activations and their gradients among it, since a kernel writes each as one
// expression. Casts are _to_copy; each rounds to a tensor that eager has. Elements moved: cat, constant_pad_nd, flip,
// gradients of slices and selections, views.

// How the compiler treats an operator. One that it was not taught is `library`: called as it is.
enum class OpKind : std::uint8_t {
  view,       // the result shares its operand's memory: an index map, no work
  pointwise,  // each element from the elements at the same (broadcast) place
  row,        // norms, softmax, sums: decomposed into pointwise parts and reductions
  movement,   // cat, pad, gather …: elements moved, none computed
  factory,    // zeros, ones, full, arange: no tensor operand
  library,    // products, attention, convolutions, embeddings, and everything unknown
};

OpKind kind(std::string_view op);

// A number of C++ that ATen turned into a tensor without dimensions; it takes no part in type promotion. Operands:
// number, dtype.
constexpr std::string_view kWrappedNumber = "lathe::wrapped_number";

// Products and attention: their results are worth keeping for the backward before anything else.
bool is_product(std::string_view op);
bool is_attention(std::string_view op);

// Whether two nodes of this kind with equal operands give equal results, and none is missed when nobody reads it: no
// random draw, no read into C++, no data-dependent size.
bool is_pure(const Node& node);

}  // namespace lathe::ir
