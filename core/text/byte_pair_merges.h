#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace lathe::text {

// The merge table of a byte-pair encoding: which two neighbouring symbols become one, and which pair goes first.
class BytePairMerges {
 public:
  // Room for `count` merges; adding more is an error of the caller.
  explicit BytePairMerges(std::size_t count);

  // A lower rank goes first. A pair given again takes the new rank.
  void add(std::int32_t left, std::int32_t right, std::int32_t rank, std::int32_t merged);

  // Merges the neighbours of lowest rank, the leftmost of equal ones, until no pair is left. O(n log n).
  void apply(std::vector<std::int32_t>& symbols) const;

 private:
  struct Slot {
    std::uint64_t key;
    std::int32_t rank;
    std::int32_t merged;
  };
  // The slot of the pair, or the free slot where it would go. Open addressing, at most half full.
  std::size_t slot_of(std::uint64_t key) const;
  const Slot* find(std::int32_t left, std::int32_t right) const;

  std::vector<Slot> slots_;
};

}  // namespace lathe::text
