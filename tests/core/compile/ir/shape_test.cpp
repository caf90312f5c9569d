#include "core/compile/ir/shape.h"

#include "core/compile/ir/operands.h"
#include "core/compile/ir/text.h"
#include "tests/support/test_main.h"

using namespace lathe::ir;

class TestShape : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void knowsPackedLayouts();
  void boundsSizesFromBelow();
  void readsOperandsByPosition();
};

void TestShape::knowsPackedLayouts() {
  const Size n = Size::symbol(0), m = Size::symbol(1);
  QCOMPARE(dense_strides({n, Size(1), m}), (std::vector<Size>{m, m, Size(1)}));
  QVERIFY(is_packed({n, m}, {Size(1), n}));
  QVERIFY(is_packed({Size(1), Size(1)}, {Size(7), Size(9)}));
  QVERIFY(!is_packed({n, m}, {m + Size(1), Size(1)}));
  QVERIFY(!is_packed({n, m}, {Size(1), Size(0)}));
  QCOMPARE(elementwise_strides({n, m}, {Size(1), n}), (std::vector<Size>{Size(1), n}));
  QCOMPARE(elementwise_strides({n, m}, {Size(0), Size(1)}), (std::vector<Size>{m, Size(1)}));
}

void TestShape::boundsSizesFromBelow() {
  std::vector<Symbol> symbols(2);
  symbols[1].min = 4;
  const Size a = Size::symbol(0), b = Size::symbol(1);
  QVERIFY(at_least(a * b, 8, symbols));
  QVERIFY(!at_least(a * b, 9, symbols));
  QVERIFY(at_least(a * b - a, 6, symbols));  // 2 · 4 − 2, and it grows with both
  QVERIFY(!at_least(a - b, 0, symbols));
  QVERIFY(at_least(b.divided_by(2).value() - Size(2), 0, symbols));
}

void TestShape::readsOperandsByPosition() {
  const Graph graph =
      parse("input %0: f32[2] strides [1]\n%1: f32[2] strides [1] = aten::x(%0, _, 3, 0.5, true, [4, s0])\n");
  const Node& node = graph.nodes[0];
  QCOMPARE(tensor_at(node, 0), 0);
  QCOMPARE(tensor_at(node, 1), -1);
  QCOMPARE(tensor_at(node, 9), -1);
  QCOMPARE(integer_at(node, 2).value(), std::int64_t{3});
  QCOMPARE(number_at(node, 3).value(), 0.5);
  QVERIFY(flag_at(node, 4));
  QVERIFY(flag_at(node, 9, true));
  QCOMPARE(sizes_at(node, 2)->size(), std::size_t{1});
  QVERIFY(!integers_at(node, 5));
}

LATHE_TEST(TestShape);
#include "shape_test.moc"
