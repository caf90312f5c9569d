#include "core/compile/passes/dead_code.h"

#include "core/compile/ir/text.h"
#include "tests/support/test_main.h"

using namespace lathe;

class TestDeadCode : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void dropsWhatNobodyReads();
  void keepsDrawsAndReads();
  void movesBreaksAlong();
};

void TestDeadCode::dropsWhatNobodyReads() {
  ir::Graph graph = ir::parse(R"(input %0: f32[2] strides [1]
%1: f32[2] strides [1] = neg(%0)
%2: f32[2] strides [1] = exp(%1)
%3: f32[2] strides [1] = sin(%0)
output %3
)");
  QVERIFY(passes::remove_dead_code(graph));
  QCOMPARE(graph.nodes.size(), std::size_t{1});
  QCOMPARE(graph.nodes[0].op, std::string("sin"));
  QCOMPARE(graph.values[3].index, 0);
  QVERIFY(!passes::remove_dead_code(graph));
}

void TestDeadCode::keepsDrawsAndReads() {
  ir::Graph graph = ir::parse(R"(input %0: f32[2] strides [1]
%1: f32[2] strides [1] = randn([2]) draw 0
%2: bool[] strides [] = any(%0)
= _local_scalar_dense(%2) read boolean 1.0
output %0
)");
  QVERIFY(!passes::remove_dead_code(graph));
  QCOMPARE(graph.nodes.size(), std::size_t{3});
}

void TestDeadCode::movesBreaksAlong() {
  ir::Graph graph = ir::parse(R"(input %0: f32[2] strides [1]
%1: f32[2] strides [1] = neg(%0)
%2: i64[2, 1] strides [1, 2] = nonzero(%0)
output %2
break 1 nonzero
)");
  QVERIFY(passes::remove_dead_code(graph));
  QCOMPARE(graph.breaks.at(0).node, 0);
}

LATHE_TEST(TestDeadCode);
#include "dead_code_test.moc"
