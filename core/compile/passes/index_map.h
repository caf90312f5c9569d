#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/compile/ir/graph.h"

namespace lathe::passes {

// The rectangle that a kernel walks, and what is known of it.
struct Domain {
  std::vector<ir::Size> sizes;
  bool has_row = false;  // reductions run along the last dimension, which then cannot be split
  std::span<const ir::Symbol> symbols;
  std::span<const std::int64_t> hints;  // of the symbols

  std::int64_t hint(const ir::Size& size) const { return size.evaluate(hints); }
};

// An index that depends on the indices of a domain: offset + Σ coefficient · i_dim.
struct Affine {
  std::vector<std::pair<std::int32_t, ir::Size>> terms;  // dimension of the domain, coefficient not 0; dims ascending
  ir::Size offset;

  bool is_zero() const { return terms.empty() && offset == ir::Size(0); }
  ir::Size coefficient(std::int32_t dim) const;
  bool operator==(const Affine&) const = default;
};

Affine index_of(std::int32_t dim);
// a + b · factor.
Affine add_scaled(const Affine& a, const Affine& b, const ir::Size& factor);

// Where an element of a value lies, one index a dimension of the value.
using IndexMap = std::vector<Affine>;

// Thrown inside the planning of a kernel, caught by plan_kernel(): it cannot be done, or not before a dimension of the
// domain is taken apart. Planning tries many kernels, so most refusals are no fault.
struct Refused {
  std::string reason;
};
struct SplitNeeded {
  std::int32_t dim = 0;
  ir::Size outer, inner;
};

// Index into a value of sizes `to` of the element that has index `map` in a value of sizes `from`, both dense in
// row-major order: what a reshape means.
IndexMap reshape_map(const IndexMap& map, const std::vector<ir::Size>& from, const std::vector<ir::Size>& to,
                     const Domain& domain);

// Index into a view's operand of the element that the view shows at `map`. `result`: which of its results.
IndexMap pull_through_view(const ir::Graph& graph, const ir::Node& view, std::size_t result, const IndexMap& map,
                           const Domain& domain);

// Index into an operand that is broadcast to the sizes of the result.
IndexMap broadcast_map(const IndexMap& map, const std::vector<ir::Size>& operand_sizes);

// Whether the map visits each element of a value of these sizes once as the indices of `dims` dimensions of the domain
// (from the first) run through it, and depends on no other.
bool covers(const IndexMap& map, const std::vector<ir::Size>& sizes, const Domain& domain, std::size_t dims);

// A dimension counted from the front.
std::size_t dimension(std::int64_t dim, std::size_t rank);

}  // namespace lathe::passes
