#pragma once

#include <cstdint>
#include <string_view>

#include "core/compile/ir/graph.h"

namespace lathe::ir {

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
