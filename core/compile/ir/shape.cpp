#include "core/compile/ir/shape.h"

#include <algorithm>

namespace lathe::ir {

namespace {
// Dimensions other than 1 from the innermost outwards, or nothing where the layout is no permutation of a dense one.
std::vector<std::size_t> packed_order(const std::vector<Size>& sizes, const std::vector<Size>& strides) {
  std::vector<std::size_t> left, order;
  for (std::size_t dim = sizes.size(); dim-- > 0;) {
    if (!(sizes[dim] == Size(1))) left.push_back(dim);
  }
  Size expected = 1;
  while (!left.empty()) {
    const auto next = std::find_if(left.begin(), left.end(), [&](std::size_t dim) { return strides[dim] == expected; });
    if (next == left.end()) return {};
    expected = expected * sizes[*next];
    order.push_back(*next);
    left.erase(next);
  }
  return order;
}

bool all_ones(const std::vector<Size>& sizes) {
  return std::all_of(sizes.begin(), sizes.end(), [](const Size& size) { return size == Size(1); });
}
}  // namespace

Size element_count(std::span<const Size> sizes) {
  Size count = 1;
  for (const Size& size : sizes) count = count * size;
  return count;
}

std::vector<Size> dense_strides(const std::vector<Size>& sizes) {
  std::vector<Size> strides(sizes.size());
  Size stride = 1;
  for (std::size_t dim = sizes.size(); dim-- > 0;) {
    strides[dim] = stride;
    stride = stride * sizes[dim];
  }
  return strides;
}

bool is_packed(const std::vector<Size>& sizes, const std::vector<Size>& strides) {
  return all_ones(sizes) || !packed_order(sizes, strides).empty();
}

std::vector<Size> elementwise_strides(const std::vector<Size>& sizes, const std::vector<Size>& strides) {
  return is_packed(sizes, strides) ? strides : dense_strides(sizes);
}

Size byte_count(const Value& value) {
  return element_count(value.sizes) * Size(byte_size(value.dtype));
}

std::vector<std::int64_t> hints(const Graph& graph) {
  std::vector<std::int64_t> values;
  for (const Symbol& symbol : graph.symbols) values.push_back(symbol.hint);
  return values;
}

bool at_least(const Size& size, std::int64_t bound, std::span<const Symbol> symbols) {
  // Write each symbol as its least value plus something that is not negative: where no coefficient is negative then,
  // the constant term is the least value.
  Size shifted = Size(-bound);
  for (const Size::Term& term : size.terms()) {
    Size product = Size::from_terms({{term.numerator, term.denominator, {}}});
    for (const SymbolId id : term.factors) {
      const std::int64_t least = symbols[static_cast<std::size_t>(id)].min;
      product = product * (Size::symbol(id) + Size(least));
    }
    shifted = shifted + product;
  }
  return std::all_of(shifted.terms().begin(), shifted.terms().end(),
                     [](const Size::Term& term) { return term.numerator >= 0; });
}

}  // namespace lathe::ir
