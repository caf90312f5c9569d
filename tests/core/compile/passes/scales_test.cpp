#include "core/compile/passes/scales.h"

#include "core/compile/ir/operands.h"
#include "core/compile/ir/text.h"
#include "core/compile/passes/dead_code.h"
#include "core/compile/passes/pipeline.h"
#include "core/compile/passes/rewriter.h"
#include "tests/core/compile/passes/graph_check.h"
#include "tests/support/test_main.h"

using namespace lathe;
using namespace lathe::testing;

class TestScales : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void scalesResultsInsteadOfOperands();
  void leavesOthersAlone_data();
  void leavesOthersAlone();
  void keepsTheValuesOfABlock();
};

void TestScales::scalesResultsInsteadOfOperands() {
  ir::Graph graph = ir::parse(R"(symbol s0: input_dim %0 dim 0 hint 65536 min 2
input %0: bf16[s0, 2, 8] strides [16, 8, 1]
input %2: bf16[s0, 3] strides [3, 1]
parameter %1: bf16[16, 3] strides [3, 1]
%3: bf16[s0, 2, 8] strides [16, 8, 1] = mul.Tensor(%0, 0.25)
%4: bf16[s0, 16] strides [16, 1] = view(%3, [s0, 16])
%5: bf16[16, s0] strides [1, 16] = t(%4)
%6: bf16[16, 3] strides [3, 1] = mm(%5, %2)
%7: bf16[s0, 3] strides [3, 1] = mm(%4, %1)
output %6
output %7
)");
  const ir::Graph before = graph;
  QVERIFY(passes::sink_scales(graph));
  passes::remove_dead_code(graph);
  LATHE_VALID(graph);
  QCOMPARE(QString::fromStdString(ir::print(graph)), QString(R"(symbol s0: input_dim %0 dim 0 hint 65536 min 2
input %0: bf16[s0, 2, 8] strides [16, 8, 1]
input %2: bf16[s0, 3] strides [3, 1]
parameter %1: bf16[16, 3] strides [3, 1]
%4: bf16[s0, 16] strides [16, 1] = view(%0, [s0, 16])
%5: bf16[16, s0] strides [1, 16] = t(%4)
%8: bf16[16, 3] strides [3, 1] = mm(%5, %2)
%6: bf16[16, 3] strides [3, 1] = mul.Scalar(%8, 0.25)
%9: bf16[s0, 3] strides [3, 1] = mm(%4, %1)
%7: bf16[s0, 3] strides [3, 1] = mul.Scalar(%9, 0.25)
output %6
output %7
)"));
  QCOMPARE(change(before, graph, {5}), 0.0);
}

void TestScales::leavesOthersAlone_data() {
  QTest::addColumn<QString>("calls");
  QTest::newRow("no power of two") << "%2: f32[65536, 8] strides [8, 1] = mul.Tensor(%0, 0.3)\n"
                                      "%3: f32[65536, 2] strides [2, 1] = mm(%2, %1)\noutput %3\n";
  QTest::newRow("another reader") << "%2: f32[65536, 8] strides [8, 1] = mul.Tensor(%0, 0.5)\n"
                                     "%3: f32[65536, 2] strides [2, 1] = mm(%2, %1)\n"
                                     "%4: f32[65536, 8] strides [8, 1] = exp(%2)\noutput %3\noutput %4\n";
  QTest::newRow("a result of the graph") << "%2: f32[65536, 8] strides [8, 1] = mul.Tensor(%0, 0.5)\n"
                                            "%3: f32[65536, 2] strides [2, 1] = mm(%2, %1)\noutput %3\noutput %2\n";
  QTest::newRow("both sides") << "%2: f32[65536, 8] strides [8, 1] = mul.Tensor(%0, 0.5)\n"
                                 "%3: f32[8, 65536] strides [1, 8] = t(%2)\n"
                                 "%4: f32[8, 8] strides [8, 1] = mm(%3, %2)\noutput %4\n";
  QTest::newRow("a wider product") << "%2: f32[8, 2] strides [2, 1] = mul.Tensor(%1, 0.5)\n"
                                      "%3: f32[65536, 2] strides [2, 1] = mm(%0, %2)\noutput %3\n";
  QTest::newRow("too small for a kernel") << "%2: f32[8, 65536] strides [1, 8] = t(%0)\n"
                                             "%3: f32[8, 2] strides [2, 1] = mul.Tensor(%1, 0.5)\n"
                                             "%4: f32[2, 8] strides [1, 2] = t(%3)\n"
                                             "%5: f32[2, 65536] strides [65536, 1] = mm(%4, %2)\noutput %5\n";
}

void TestScales::leavesOthersAlone() {
  QFETCH(QString, calls);
  const QString text = "input %0: f32[65536, 8] strides [8, 1]\nparameter %1: f32[8, 2] strides [2, 1]\n" + calls;
  ir::Graph graph = ir::parse(text.toStdString());
  QVERIFY(!passes::sink_scales(graph));
  QCOMPARE(QString::fromStdString(ir::print(graph)), text);
}

// As if it had been recorded at a large picture; run at a small one.
void TestScales::keepsTheValuesOfABlock() {
  ir::Graph graph = load_graph("anima_block_f32");
  const std::vector<std::int64_t> small = other_sizes(graph);
  for (ir::Symbol& symbol : graph.symbols) symbol.hint = 64;
  const passes::CompiledGraph compiled = passes::run_pipeline(graph);
  int scaled = 0;  // two a layer: the gradients of the up projection and of what it reads
  for (const ir::Node& node : compiled.graph.nodes) {
    const ir::Node* made_by =
        ir::plain_name(node.op) == "mul" ? passes::definition(compiled.graph, ir::tensor_at(node, 0)) : nullptr;
    scaled += made_by != nullptr && made_by->op == "mm" ? 1 : 0;
  }
  QVERIFY(scaled >= 20);
  QVERIFY(change(graph, compiled.graph, small) <= 1e-5);
}

LATHE_TEST(TestScales);
#include "scales_test.moc"
