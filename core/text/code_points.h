#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>

namespace lathe::text {

// Both ends are in it.
struct CodePointRange {
  char32_t first;
  char32_t last;
};

// Whether `c` lies in one of the ranges, which are in order.
template <std::size_t N>
bool lies_in(const CodePointRange (&ranges)[N], char32_t c) {
  const auto after = std::ranges::upper_bound(ranges, c, {}, &CodePointRange::first);
  return after != std::begin(ranges) && c <= std::prev(after)->last;
}

}  // namespace lathe::text
