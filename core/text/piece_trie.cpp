#include "core/text/piece_trie.h"

#include <algorithm>
#include <numeric>

namespace lathe::text {

namespace {

// Pieces sorted[begin, end) share their first `depth` bytes, which lead to `node`.
struct Open {
  std::size_t node;
  std::size_t begin;
  std::size_t end;
  std::size_t depth;
};

}  // namespace

// Level by level over the sorted pieces, so that the children of a node lie side by side.
PieceTrie::PieceTrie(const std::vector<std::string>& pieces) {
  std::vector<std::int32_t> sorted(pieces.size());
  std::iota(sorted.begin(), sorted.end(), 0);
  std::ranges::stable_sort(sorted, [&](std::int32_t a, std::int32_t b) {
    return pieces[static_cast<std::size_t>(a)] < pieces[static_cast<std::size_t>(b)];
  });
  const auto piece = [&](std::size_t i) -> const std::string& { return pieces[static_cast<std::size_t>(sorted[i])]; };

  std::vector<Open> open = {{0, 0, sorted.size(), 0}};
  for (std::size_t next = 0; next < open.size(); ++next) {
    auto [node, begin, end, depth] = open[next];
    for (; begin < end && piece(begin).size() == depth; ++begin) {
      if (depth > 0) nodes_[node].id = sorted[begin];
    }
    nodes_[node].first_child = static_cast<std::uint32_t>(nodes_.size());
    while (begin < end) {
      const char byte = piece(begin)[depth];
      std::size_t same = begin;
      while (same < end && piece(same)[depth] == byte) ++same;
      open.push_back({nodes_.size(), begin, same, depth + 1});
      nodes_.push_back({0, 0, static_cast<unsigned char>(byte), -1});
      ++nodes_[node].child_count;
      begin = same;
    }
  }
}

std::size_t PieceTrie::child(std::size_t node, unsigned char byte) const {
  const auto first = nodes_.begin() + nodes_[node].first_child;
  const auto last = first + nodes_[node].child_count;
  const auto found = std::lower_bound(first, last, byte, [](const Node& n, unsigned char b) { return n.byte < b; });
  return found != last && found->byte == byte ? static_cast<std::size_t>(found - nodes_.begin()) : 0;
}

}  // namespace lathe::text
