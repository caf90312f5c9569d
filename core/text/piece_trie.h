#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lathe::text {

// Finds the entries of a vocabulary that a text starts with.
class PieceTrie {
 public:
  PieceTrie() = default;
  // pieces[i] has the id i; of equal pieces the last one counts.
  explicit PieceTrie(const std::vector<std::string>& pieces);

  // Calls visit(length in bytes, id) for each piece that `text` starts with, shortest first.
  template <class Visit>
  void for_each_prefix(std::string_view text, Visit visit) const {
    std::size_t node = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
      node = child(node, static_cast<unsigned char>(text[i]));
      if (node == 0) return;
      if (nodes_[node].id >= 0) visit(i + 1, nodes_[node].id);
    }
  }

 private:
  struct Node {
    std::uint32_t first_child = 0;  // the children follow each other, by byte
    std::uint16_t child_count = 0;
    unsigned char byte = 0;
    std::int32_t id = -1;  // of the piece that ends here; -1: none
  };
  std::size_t child(std::size_t node, unsigned char byte) const;  // 0: none

  std::vector<Node> nodes_ = std::vector<Node>(1);  // the root first
};

}  // namespace lathe::text
