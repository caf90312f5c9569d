#include "core/compile/passes/merge.h"

#include "core/compile/ir/text.h"
#include "core/compile/passes/dead_code.h"
#include "core/compile/passes/pipeline.h"
#include "tests/core/compile/passes/graph_check.h"
#include "tests/support/test_main.h"

using namespace lathe;
using namespace lathe::testing;

class TestMerge : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void makesOneProductOfThree();
  void leavesOthersAlone_data();
  void leavesOthersAlone();
  void mergesTheAdaptersOfABlock();
};

void TestMerge::makesOneProductOfThree() {
  ir::Graph graph = ir::parse(R"(symbol s0: input_dim %0 dim 0 hint 64 min 2
input %0: f32[s0, 16] strides [16, 1]
parameter %1: f32[3, 16] strides [16, 1]
parameter %2: f64[2, 16] strides [16, 1]
parameter %3: f32[5, 3] strides [3, 1]
tangent %4: f32[s0, 5] strides [5, 1]
%5: f32[16, 3] strides [1, 16] = t(%1)
%6: f32[s0, 3] strides [3, 1] = mm(%0, %5)
%7: f32[3, 5] strides [1, 3] = t(%3)
%8: f32[s0, 5] strides [5, 1] = mm(%6, %7)
%9: f32[2, 16] strides [16, 1] = _to_copy(%2, :f32, none, none, none, false, none)
%10: f32[16, 2] strides [1, 16] = t(%9)
%11: f32[s0, 2] strides [2, 1] = mm(%0, %10)
%12: f32[s0, 2] strides [2, 1] = exp(%11)
%13: f32[3, s0] strides [1, 3] = backward t(%6)
%14: f32[3, 5] strides [5, 1] = backward mm(%13, %4)
%15: f32[5, 3] strides [1, 5] = backward t(%14)
output %8
output %12
parameter_gradient _
parameter_gradient _
parameter_gradient %15
)");
  const ir::Graph before = graph;
  QVERIFY(passes::merge_products(graph));
  passes::remove_dead_code(graph);
  LATHE_VALID(graph);
  QCOMPARE(QString::fromStdString(ir::print(graph)), QString(R"(symbol s0: input_dim %0 dim 0 hint 64 min 2
input %0: f32[s0, 16] strides [16, 1]
parameter %1: f32[3, 16] strides [16, 1]
parameter %2: f64[2, 16] strides [16, 1]
parameter %3: f32[5, 3] strides [3, 1]
tangent %4: f32[s0, 5] strides [5, 1]
%9: f32[2, 16] strides [16, 1] = _to_copy(%2, :f32, none, none, none, false, none)
%16: f32[5, 16] strides [16, 1] = cat({%1, %9}, 0)
%17: f32[16, 5] strides [1, 16] = t(%16)
%18: f32[s0, 5] strides [5, 1] = mm(%0, %17)
%6: f32[s0, 3] strides [5, 1] = slice.Tensor(%18, 1, 0, 3, 1)
%11: f32[s0, 2] strides [5, 1] = slice.Tensor(%18, 1, 3, 5, 1)
%7: f32[3, 5] strides [1, 3] = t(%3)
%8: f32[s0, 5] strides [5, 1] = mm(%6, %7)
%12: f32[s0, 2] strides [2, 1] = exp(%11)
%13: f32[3, s0] strides [1, 5] = backward t(%6)
%14: f32[3, 5] strides [5, 1] = backward mm(%13, %4)
%15: f32[5, 3] strides [1, 5] = backward t(%14)
output %8
output %12
parameter_gradient _
parameter_gradient _
parameter_gradient %15
)"));
  QCOMPARE(change(before, graph, {7}), 0.0);
}

void TestMerge::leavesOthersAlone_data() {
  QTest::addColumn<QString>("calls");
  const QString one = "%3: f32[16, 3] strides [1, 16] = t(%1)\n%4: f32[64, 3] strides [3, 1] = mm(%0, %3)\n";
  QTest::newRow("one product") << one + "output %4\n";
  QTest::newRow("results of the graph")
      << one +
             "%5: f32[16, 2] strides [1, 16] = t(%2)\n%6: f32[64, 2] strides [2, 1] = mm(%0, %5)\n"
             "output %4\noutput %6\n";
  QTest::newRow("a reader that wants rows without a pitch")
      << one +
             "%5: f32[16, 2] strides [1, 16] = t(%2)\n%6: f32[64, 2] strides [2, 1] = mm(%0, %5)\n"
             "%7: f32[192] strides [1] = view(%4, [192])\n%8: f32[64, 2] strides [2, 1] = exp(%6)\n"
             "output %7\noutput %8\n";
  QTest::newRow("weights that wait for the first")
      << one +
             "%5: f32[64, 3] strides [3, 1] = exp(%4)\n%6: f32[3, 3] strides [3, 1] = odd(%5)\n"
             "%7: f32[2, 16] strides [16, 1] = odd(%6)\n%8: f32[16, 2] strides [1, 16] = t(%7)\n"
             "%9: f32[64, 2] strides [2, 1] = mm(%0, %8)\n%10: f32[64, 2] strides [2, 1] = exp(%9)\noutput %10\n";
}

void TestMerge::leavesOthersAlone() {
  QFETCH(QString, calls);
  const QString text =
      "input %0: f32[64, 16] strides [16, 1]\nparameter %1: f32[3, 16] strides [16, 1]\n"
      "parameter %2: f32[2, 16] strides [16, 1]\n" +
      calls;
  ir::Graph graph = ir::parse(text.toStdString());
  QVERIFY(!passes::merge_products(graph));
  QCOMPARE(QString::fromStdString(ir::print(graph)), text);
}

void TestMerge::mergesTheAdaptersOfABlock() {
  ir::Graph graph = load_graph("anima_block_f32");
  passes::PipelineOptions options;
  options.merge_products = false;
  const passes::CompiledGraph apart = passes::run_pipeline(graph, options);
  options.merge_products = true;
  const passes::CompiledGraph together = passes::run_pipeline(graph, options);
  QCOMPARE(count_nodes(together.graph, "mm"), count_nodes(apart.graph, "mm") - 2);  // q, k, v of the self-attention
  QVERIFY(change(graph, together.graph, other_sizes(graph)) <= 1e-5);
}

LATHE_TEST(TestMerge);
#include "merge_test.moc"
