#include "core/compile/passes/fold.h"

#include "core/compile/ir/text.h"
#include "core/compile/passes/dead_code.h"
#include "tests/core/compile/passes/graph_check.h"
#include "tests/support/test_main.h"

using namespace lathe;
using namespace lathe::testing;

class TestFold : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void removesWhatChangesNothing();
  void keepsResultsApartFromInputs();
  void knowsUniformNumbers();
  void keepsTheValuesOfABlock_data();
  void keepsTheValuesOfABlock();
};

void TestFold::removesWhatChangesNothing() {
  ir::Graph graph = ir::parse(R"(symbol s0: input_dim %0 dim 0 hint 4 min 2
input %0: f32[s0, 6] strides [6, 1]
%1: f32[6, s0] strides [1, 6] = t(%0)
%2: f32[s0, 6] strides [6, 1] = t(%1)
%3: f32[s0, 6] strides [6, 1] = detach(%2)
%4: f32[s0, 6] strides [6, 1] = mul.Tensor(%3, 1.0)
%5: f32[s0, 6] strides [6, 1] = zeros([s0, 6], :f32, none, none, none)
%6: f32[s0, 6] strides [6, 1] = add.Tensor(%5, %4, 1)
%7: f32[s0, 6] strides [6, 1] = slice.Tensor(%6, 0, 0, 9223372036854775807, 1)
%8: f32[s0, 2, 3] strides [6, 3, 1] = _unsafe_view(%7, [s0, 2, 3])
%9: f32[2*s0, 3] strides [3, 1] = view(%8, [2*s0, 3])
%10: f32[2*s0, 3] strides [3, 1] = neg(%9)
%11: f32[6, s0] strides [s0, 1] = clone(%1, 0)
output %10
output %11
)");
  const ir::Graph before = graph;
  QVERIFY(passes::fold(graph));
  passes::remove_dead_code(graph);
  QCOMPARE(QString::fromStdString(ir::print(graph)), QString(R"(symbol s0: input_dim %0 dim 0 hint 4 min 2
input %0: f32[s0, 6] strides [6, 1]
%1: f32[6, s0] strides [1, 6] = t(%0)
%9: f32[2*s0, 3] strides [3, 1] = view(%0, [2*s0, 3])
%10: f32[2*s0, 3] strides [3, 1] = neg(%9)
%11: f32[6, s0] strides [s0, 1] = clone(%1, 0)
output %10
output %11
)"));
  QCOMPARE(change(before, graph, {3}), 0.0);
  QVERIFY(!passes::fold(graph));
}

void TestFold::keepsResultsApartFromInputs() {
  const char* const text = R"(input %0: f32[2] strides [1]
%1: f32[2] strides [1] = mul.Tensor(%0, 1.0)
%2: f32[2] strides [1] = neg(%0)
%3: f32[2] strides [1] = clone(%2, none)
output %1
output %2
output %3
)";
  ir::Graph graph = ir::parse(text);
  QVERIFY(!passes::fold(graph));
  QCOMPARE(QString::fromStdString(ir::print(graph)), QString(text));
}

void TestFold::knowsUniformNumbers() {
  const ir::Graph graph = ir::parse(R"(input %0: f32[2] strides [1]
%1: f32[1] strides [1] = full([1], 2.5, :f32, none, none, none)
%2: f32[4] strides [0] = expand(%1, [4], false)
)");
  QCOMPARE(passes::uniform_number(graph, 2).value(), 2.5);
  QVERIFY(!passes::uniform_number(graph, 0));
}

void TestFold::keepsTheValuesOfABlock_data() {
  QTest::addColumn<QString>("name");
  for (const char* name : {"anima_block_f32", "anima_block_bf16", "adapter_block_f32"}) QTest::newRow(name) << name;
}

void TestFold::keepsTheValuesOfABlock() {
  QFETCH(QString, name);
  ir::Graph graph = load_graph(name.toStdString());
  const ir::Graph before = graph;
  QVERIFY(passes::fold(graph));
  passes::remove_dead_code(graph);
  LATHE_VALID(graph);
  QCOMPARE(count_nodes(graph, "detach"), 0);
  QVERIFY(graph.nodes.size() < before.nodes.size() * 9 / 10);
  QCOMPARE(change(before, graph, other_sizes(graph)), 0.0);
}

LATHE_TEST(TestFold);
#include "fold_test.moc"
