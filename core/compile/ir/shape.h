#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/compile/ir/graph.h"

namespace lathe::ir {

Size element_count(std::span<const Size> sizes);
// Row-major: the last dimension has stride 1. As ATen does, a dimension of 1 takes the stride it would have.
std::vector<Size> dense_strides(const std::vector<Size>& sizes);
// Strides that ATen gives the result of an element-wise operator on one operand of these sizes and strides: the same
// where they are a permutation of a dense layout, else row-major.
std::vector<Size> elementwise_strides(const std::vector<Size>& sizes, const std::vector<Size>& strides);
// Whether an element lies at every place of one block and at one place only, in whatever order of dimensions.
bool is_packed(const std::vector<Size>& sizes, const std::vector<Size>& strides);

// Bytes of the elements, without gaps.
Size byte_count(const Value& value);
// Values of the symbols in the first recording.
std::vector<std::int64_t> hints(const Graph& graph);

// Whether size >= bound for all values that the symbols may take; false where it cannot be shown.
bool at_least(const Size& size, std::int64_t bound, std::span<const Symbol> symbols);

}  // namespace lathe::ir
