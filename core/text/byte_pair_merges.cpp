#include "core/text/byte_pair_merges.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <functional>
#include <queue>
#include <tuple>

namespace lathe::text {

namespace {

constexpr std::uint64_t kFree = ~std::uint64_t{0};  // ids are not negative, so no pair has this key
constexpr std::size_t kNone = ~std::size_t{0};

std::uint64_t key_of(std::int32_t left, std::int32_t right) {
  return (std::uint64_t{static_cast<std::uint32_t>(left)} << 32) | static_cast<std::uint32_t>(right);
}

// A symbol of the word in a doubly linked list; `id` < 0: merged away.
struct Link {
  std::int32_t id;
  std::size_t previous;
  std::size_t next;
};

struct Candidate {
  std::int32_t rank;
  std::size_t at;  // index of the left symbol
  std::int32_t left;
  std::int32_t right;
  std::int32_t merged;

  bool operator>(const Candidate& other) const { return std::tie(rank, at) > std::tie(other.rank, other.at); }
};

}  // namespace

BytePairMerges::BytePairMerges(std::size_t count) : slots_(std::bit_ceil(2 * count + 2), Slot{kFree, 0, 0}) {}

std::size_t BytePairMerges::slot_of(std::uint64_t key) const {
  const std::size_t mask = slots_.size() - 1;
  // Multiplicative hashing (Knuth, volume 3, 6.4): the high bits depend on the whole key.
  std::size_t at = static_cast<std::size_t>((key * 0x9E3779B97F4A7C15u) >> 32) & mask;
  while (slots_[at].key != kFree && slots_[at].key != key) at = (at + 1) & mask;
  return at;
}

void BytePairMerges::add(std::int32_t left, std::int32_t right, std::int32_t rank, std::int32_t merged) {
  assert(left >= 0 && right >= 0);
  const std::uint64_t key = key_of(left, right);
  slots_[slot_of(key)] = {key, rank, merged};
}

const BytePairMerges::Slot* BytePairMerges::find(std::int32_t left, std::int32_t right) const {
  const Slot& slot = slots_[slot_of(key_of(left, right))];
  return slot.key != kFree ? &slot : nullptr;
}

void BytePairMerges::apply(std::vector<std::int32_t>& symbols) const {
  std::vector<Link> links(symbols.size());
  std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> waiting;
  const auto consider = [&](std::size_t at) {
    const std::size_t next = links[at].next;
    if (next == kNone) return;
    if (const Slot* slot = find(links[at].id, links[next].id)) {
      waiting.push({slot->rank, at, links[at].id, links[next].id, slot->merged});
    }
  };
  for (std::size_t i = 0; i < symbols.size(); ++i) {
    links[i] = {symbols[i], i > 0 ? i - 1 : kNone, i + 1 < symbols.size() ? i + 1 : kNone};
  }
  for (std::size_t i = 0; i < symbols.size(); ++i) consider(i);

  while (!waiting.empty()) {
    const Candidate best = waiting.top();
    waiting.pop();
    // One of the two may have changed since the pair was seen.
    Link& left = links[best.at];
    if (left.id != best.left || left.next == kNone || links[left.next].id != best.right) continue;
    Link& right = links[left.next];
    left.id = best.merged;
    left.next = right.next;
    right.id = -1;
    if (left.next != kNone) links[left.next].previous = best.at;
    consider(best.at);
    if (left.previous != kNone) consider(left.previous);
  }

  symbols.clear();
  for (const Link& link : links) {
    if (link.id >= 0) symbols.push_back(link.id);
  }
}

}  // namespace lathe::text
