#include "core/compile/passes/index_map.h"

#include "core/compile/ir/shape.h"
#include "core/compile/ir/text.h"
#include "tests/support/test_main.h"

using namespace lathe;
using namespace lathe::passes;
using ir::Size;

namespace {

// Symbols s0, s1, s2 with hints 4, 6, 5.
struct Setting {
  std::vector<ir::Symbol> symbols = std::vector<ir::Symbol>(3);
  std::vector<std::int64_t> hints = {4, 6, 5};
  Domain domain(std::vector<Size> sizes) const { return {std::move(sizes), false, symbols, hints}; }
};

std::vector<Size> sizes(std::initializer_list<const char*> texts) {
  std::vector<Size> list;
  for (const char* text : texts) list.push_back(ir::parse_size(text).value());
  return list;
}

IndexMap identity(std::size_t dims) {
  IndexMap map;
  for (std::size_t dim = 0; dim < dims; ++dim) map.push_back(index_of(static_cast<std::int32_t>(dim)));
  return map;
}

// "16*i0 + i1 + 3 | 0"
QString text(const IndexMap& map) {
  QStringList indices;
  for (const Affine& index : map) {
    QStringList terms;
    for (const auto& [dim, coefficient] : index.terms) {
      const QString factor = coefficient == Size(1) ? "" : QString::fromStdString(ir::print(coefficient)) + "*";
      terms << factor + QString("i%1").arg(dim);
    }
    if (!(index.offset == Size(0)) || terms.isEmpty()) terms << QString::fromStdString(ir::print(index.offset));
    indices << terms.join(" + ");
  }
  return indices.join(" | ");
}

}  // namespace

class TestIndexMap : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void reshapesByMergingAndTakingApart();
  void asksForASplit();
  void refusesWhatMixesDimensions();
  void followsViews_data();
  void followsViews();
  void knowsWhatCoversAValue();
};

void TestIndexMap::reshapesByMergingAndTakingApart() {
  const Setting setting;
  const auto grid = sizes({"s0", "1", "s1", "s2", "16"}), tokens = sizes({"s0", "s1*s2", "16"});
  const Domain domain = setting.domain(sizes({"s0", "s1", "s2", "2", "8"}));
  IndexMap map = {index_of(0), {}, index_of(1), index_of(2), add_scaled(index_of(4), index_of(3), Size(8))};
  QCOMPARE(text(reshape_map(map, grid, tokens, domain)), QString("i0 | s2*i1 + i2 | 8*i3 + i4"));
  QCOMPARE(text(reshape_map(map, grid, sizes({"s0*s1*s2", "2", "1", "8"}), domain)),
           QString("s1*s2*i0 + s2*i1 + i2 | i3 | 0 | i4"));
  map = reshape_map(map, grid, sizes({"16*s0*s1*s2"}), domain);
  QCOMPARE(text(reshape_map(map, sizes({"16*s0*s1*s2"}), grid, domain)), QString("i0 | 0 | i1 | i2 | 8*i3 + i4"));
}

void TestIndexMap::asksForASplit() {
  const Setting setting;
  const Domain domain = setting.domain(sizes({"s0*s1", "16"}));
  try {
    reshape_map(identity(2), sizes({"s0*s1", "16"}), sizes({"s0", "s1", "16"}), domain);
    QFAIL("no split asked for");
  } catch (const SplitNeeded& wish) {
    QCOMPARE(wish.dim, 0);
    QCOMPARE(QString::fromStdString(ir::print(wish.outer)), QString("s0"));
    QCOMPARE(QString::fromStdString(ir::print(wish.inner)), QString("s1"));
  }
}

void TestIndexMap::refusesWhatMixesDimensions() {
  const Setting setting;
  const Domain domain = setting.domain(sizes({"s0", "6"}));
  QVERIFY_THROWS_EXCEPTION(Refused, reshape_map(identity(2), sizes({"s0", "6"}), sizes({"6", "s0"}), domain));
  // Elements 2 … 5 of rows of 6, taken apart into threes: 2 + i carries.
  Affine shifted = index_of(1);
  shifted.offset = 2;
  const Domain part = setting.domain(sizes({"s0", "4"}));
  QVERIFY_THROWS_EXCEPTION(Refused,
                           reshape_map({index_of(0), shifted}, sizes({"s0", "6"}), sizes({"s0", "2", "3"}), part));
}

void TestIndexMap::followsViews_data() {
  QTest::addColumn<QString>("result");
  QTest::addColumn<QString>("call");
  QTest::addColumn<QString>("map");
  QTest::newRow("transpose") << "[6, s0, 4]"
                             << "transpose.int(%0, 0, 1)"
                             << "i1 | i0 | i2";
  QTest::newRow("permute") << "[4, s0, 6]"
                           << "permute(%0, [2, 0, -2])"
                           << "i1 | i2 | i0";
  QTest::newRow("slice") << "[s0, 2, 4]"
                         << "slice.Tensor(%0, 1, -3, 9223372036854775807, 2)"
                         << "i0 | 2*i1 + 3 | i2";
  QTest::newRow("select") << "[s0, 4]"
                          << "select.int(%0, 1, -1)"
                          << "i0 | 5 | i1";
  QTest::newRow("unsqueeze") << "[s0, 6, 1, 4]"
                             << "unsqueeze(%0, 2)"
                             << "i0 | i1 | i3";
  QTest::newRow("expand") << "[3, s0, 6, 4]"
                          << "expand(%0, [3, s0, 6, 4], false)"
                          << "i1 | i2 | i3";
  QTest::newRow("view") << "[s0, 24]"
                        << "view(%0, [s0, 24])"
                        << "";
}

void TestIndexMap::followsViews() {
  QFETCH(QString, result);
  QFETCH(QString, call);
  QFETCH(QString, map);
  const int rank = static_cast<int>(result.count(',')) + 1;
  const ir::Graph graph = ir::parse(QString("symbol s0: input_dim %0 dim 0 hint 4 min 2\n"
                                            "input %0: f32[s0, 6, 4] strides [24, 4, 1]\n%1: f32%1 strides %2 = %3\n")
                                        .replace("f32%1", "f32" + result)
                                        .replace("%2", "[" + QStringList(rank, "0").join(", ") + "]")
                                        .replace("%3", call)
                                        .toStdString());
  const Setting setting;
  const Domain domain = setting.domain(graph.values[1].sizes);
  const auto pull = [&] {
    return pull_through_view(graph, graph.nodes[0], 0, identity(graph.values[1].sizes.size()), domain);
  };
  if (map.isEmpty()) {
    QVERIFY_THROWS_EXCEPTION(SplitNeeded, pull());
  } else {
    QCOMPARE(text(pull()), map);
  }
}

void TestIndexMap::knowsWhatCoversAValue() {
  const Setting setting;
  const Domain domain = setting.domain(sizes({"s0", "s1", "8"}));
  const auto all = sizes({"s0*s1", "8"});
  QVERIFY(covers({add_scaled(index_of(1), index_of(0), Size::symbol(1)), index_of(2)}, all, domain, 3));
  QVERIFY(!covers({add_scaled(index_of(1), index_of(0), Size::symbol(0)), index_of(2)}, all, domain, 3));
  QVERIFY(covers({index_of(0), index_of(1), {}}, sizes({"s0", "s1", "1"}), domain, 2));
  QVERIFY(!covers({index_of(0), {}, index_of(2)}, sizes({"s0", "1", "8"}), domain, 3));
}

LATHE_TEST(TestIndexMap);
#include "index_map_test.moc"
