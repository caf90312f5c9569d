#include "core/text/byte_pair_merges.h"

#include <map>
#include <random>
#include <tuple>
#include <utility>

#include "tests/support/test_main.h"

using lathe::text::BytePairMerges;

class TestBytePairMerges : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void mergesTheLowestRankFirst();
  void mergesTheLeftmostOfEqualPairs();
  void agreesWithTheDefinition();
};

namespace {

using Ids = std::vector<std::int32_t>;
using Table = std::map<std::pair<std::int32_t, std::int32_t>, std::pair<std::int32_t, std::int32_t>>;

// Word for word: look at all pairs, merge the best, start again.
Ids merge_by_definition(const Table& table, Ids ids) {
  for (;;) {
    std::size_t best = 0;
    std::int32_t best_rank = -1;
    std::int32_t merged = 0;
    for (std::size_t i = 0; i + 1 < ids.size(); ++i) {
      const auto found = table.find({ids[i], ids[i + 1]});
      if (found == table.end() || (best_rank >= 0 && found->second.first >= best_rank)) continue;
      best = i;
      std::tie(best_rank, merged) = found->second;
    }
    if (best_rank < 0) return ids;
    ids[best] = merged;
    ids.erase(ids.begin() + static_cast<std::ptrdiff_t>(best) + 1);
  }
}

}  // namespace

void TestBytePairMerges::mergesTheLowestRankFirst() {
  BytePairMerges merges(2);
  merges.add(1, 2, 1, 12);
  merges.add(2, 3, 0, 23);
  Ids ids = {1, 2, 3};
  merges.apply(ids);
  QCOMPARE(ids, (Ids{1, 23}));
}

void TestBytePairMerges::mergesTheLeftmostOfEqualPairs() {
  BytePairMerges merges(1);
  merges.add(1, 1, 0, 11);
  Ids ids = {1, 1, 1};
  merges.apply(ids);
  QCOMPARE(ids, (Ids{11, 1}));
}

void TestBytePairMerges::agreesWithTheDefinition() {
  std::mt19937 random(1);
  const auto below = [&](std::uint32_t limit) { return static_cast<std::int32_t>(random() % limit); };
  for (int round = 0; round < 200; ++round) {
    Table table;
    BytePairMerges merges(40);
    for (std::int32_t rank = 0; rank < 40; ++rank) {
      const auto pair = std::pair(below(12), below(12));
      if (!table.emplace(pair, std::pair(rank, below(12))).second) continue;
      merges.add(pair.first, pair.second, rank, table.at(pair).second);
    }
    Ids ids;
    for (int i = below(40); i > 0; --i) ids.push_back(below(12));
    const Ids expected = merge_by_definition(table, ids);
    merges.apply(ids);
    QCOMPARE(ids, expected);
  }
}

LATHE_TEST(TestBytePairMerges);
#include "byte_pair_merges_test.moc"
