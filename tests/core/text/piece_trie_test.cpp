#include "core/text/piece_trie.h"

#include <utility>

#include "tests/support/test_main.h"

using lathe::text::PieceTrie;

class TestPieceTrie : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void findsPrefixesShortestFirst();
  void keepsTheLastOfEqualPieces();
  void findsNothingInAnEmptyTrie();
};

namespace {

using Found = std::vector<std::pair<std::size_t, std::int32_t>>;

Found prefixes(const PieceTrie& trie, std::string_view text) {
  Found found;
  trie.for_each_prefix(text, [&](std::size_t length, std::int32_t id) { found.emplace_back(length, id); });
  return found;
}

}  // namespace

void TestPieceTrie::findsPrefixesShortestFirst() {
  const PieceTrie trie({"abc", "a", "b", "abd", "", "\xC3\xA9", "ab\xFFz"});
  QCOMPARE(prefixes(trie, "abcd"), (Found{{1, 1}, {3, 0}}));
  QCOMPARE(prefixes(trie, "ab\xFFz"), (Found{{1, 1}, {4, 6}}));
  QCOMPARE(prefixes(trie, "\xC3\xA9"), (Found{{2, 5}}));
  QCOMPARE(prefixes(trie, "c"), Found{});
  QCOMPARE(prefixes(trie, ""), Found{});
}

void TestPieceTrie::keepsTheLastOfEqualPieces() {
  QCOMPARE(prefixes(PieceTrie({"x", "a", "a"}), "a"), (Found{{1, 2}}));
}

void TestPieceTrie::findsNothingInAnEmptyTrie() {
  QCOMPARE(prefixes(PieceTrie(), "a"), Found{});
}

LATHE_TEST(TestPieceTrie);
#include "piece_trie_test.moc"
