#include "core/compile/passes/casts.h"

#include "core/compile/ir/text.h"
#include "core/compile/passes/cse.h"
#include "core/compile/passes/dead_code.h"
#include "tests/core/compile/passes/graph_check.h"
#include "tests/support/test_main.h"

using namespace lathe;
using namespace lathe::testing;

class TestCasts : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void knowsExactCasts();
  void dropsRoundTripsAndKeepsRounding();
  void liftsCastsAboveViews();
  void keepsTheValuesOfABlock();
};

void TestCasts::knowsExactCasts() {
  using ir::DType;
  QVERIFY(passes::is_exact(DType::bf16, DType::f32));
  QVERIFY(passes::is_exact(DType::f32, DType::f64));
  QVERIFY(passes::is_exact(DType::boolean, DType::bf16));
  QVERIFY(passes::is_exact(DType::i32, DType::f64));
  QVERIFY(!passes::is_exact(DType::f32, DType::bf16));
  QVERIFY(!passes::is_exact(DType::f16, DType::bf16));
  QVERIFY(!passes::is_exact(DType::bf16, DType::f16));
  QVERIFY(!passes::is_exact(DType::i64, DType::f64));
  QVERIFY(!passes::is_exact(DType::i8, DType::u8));
}

void TestCasts::dropsRoundTripsAndKeepsRounding() {
  ir::Graph graph = ir::parse(R"(input %0: bf16[2, 3] strides [3, 1]
input %1: f32[2, 3] strides [3, 1]
%2: f32[2, 3] strides [3, 1] = _to_copy(%0, :f32, none, none, none, false, none)
%3: f32[3, 2] strides [1, 3] = t(%2)
%4: bf16[3, 2] strides [1, 3] = _to_copy(%3, :bf16, none, none, none, false, none)
%5: bf16[3, 2] strides [1, 3] = neg(%4)
%6: f64[2, 3] strides [3, 1] = _to_copy(%2, :f64, none, none, none, false, none)
%7: f64[2, 3] strides [3, 1] = neg(%6)
%8: bf16[2, 3] strides [3, 1] = _to_copy(%1, :bf16, none, none, none, false, none)
%9: f32[2, 3] strides [3, 1] = _to_copy(%8, :f32, none, none, none, false, none)
%10: f32[2, 3] strides [3, 1] = neg(%9)
output %5
output %7
output %10
)");
  const ir::Graph before = graph;
  QVERIFY(passes::fold_casts(graph));
  passes::remove_dead_code(graph);
  LATHE_VALID(graph);
  QCOMPARE(QString::fromStdString(ir::print(graph)), QString(R"(input %0: bf16[2, 3] strides [3, 1]
input %1: f32[2, 3] strides [3, 1]
%11: bf16[3, 2] strides [1, 3] = t(%0)
%5: bf16[3, 2] strides [1, 3] = neg(%11)
%6: f64[2, 3] strides [3, 1] = _to_copy(%0, :f64, none, none, none, false, none)
%7: f64[2, 3] strides [3, 1] = neg(%6)
%8: bf16[2, 3] strides [3, 1] = _to_copy(%1, :bf16, none, none, none, false, none)
%9: f32[2, 3] strides [3, 1] = _to_copy(%8, :f32, none, none, none, false, none)
%10: f32[2, 3] strides [3, 1] = neg(%9)
output %5
output %7
output %10
)"));
  QCOMPARE(change(before, graph, {}), 0.0);
}

void TestCasts::liftsCastsAboveViews() {
  ir::Graph graph = ir::parse(R"(input %0: f32[4, 6] strides [6, 1]
input %1: f32[1, 6] strides [6, 1]
%2: f32[2, 12] strides [12, 1] = view(%0, [2, 12])
%3: bf16[2, 12] strides [12, 1] = _to_copy(%2, :bf16, none, none, none, false, none)
%4: bf16[4, 6] strides [6, 1] = _to_copy(%0, :bf16, none, none, none, false, none)
%5: bf16[2, 12] strides [12, 1] = neg(%3)
%6: f32[4, 6] strides [0, 1] = expand(%1, [4, 6], false)
%7: bf16[4, 6] strides [6, 1] = _to_copy(%6, :bf16, none, none, none, false, none)
%8: bf16[4, 6] strides [6, 1] = mul.Tensor(%4, %7)
output %5
output %8
)");
  const ir::Graph before = graph;
  QVERIFY(passes::fold_casts(graph));
  passes::merge_common_subexpressions(graph);
  passes::remove_dead_code(graph);
  LATHE_VALID(graph);
  QCOMPARE(QString::fromStdString(ir::print(graph)), QString(R"(input %0: f32[4, 6] strides [6, 1]
input %1: f32[1, 6] strides [6, 1]
%9: bf16[4, 6] strides [6, 1] = _to_copy(%0, :bf16, none, none, none, false, none)
%10: bf16[2, 12] strides [12, 1] = view(%9, [2, 12])
%5: bf16[2, 12] strides [12, 1] = neg(%10)
%11: bf16[1, 6] strides [6, 1] = _to_copy(%1, :bf16, none, none, none, false, none)
%12: bf16[4, 6] strides [0, 1] = expand(%11, [4, 6], false)
%8: bf16[4, 6] strides [6, 1] = mul.Tensor(%9, %12)
output %5
output %8
)"));
  QCOMPARE(change(before, graph, {}), 0.0);
}

void TestCasts::keepsTheValuesOfABlock() {
  ir::Graph graph = load_graph("anima_block_bf16");
  const ir::Graph before = graph;
  passes::fold_casts(graph);
  passes::merge_common_subexpressions(graph);
  passes::remove_dead_code(graph);
  LATHE_VALID(graph);
  QVERIFY(count_nodes(graph, "_to_copy") < count_nodes(before, "_to_copy"));
  QCOMPARE(change(before, graph, other_sizes(graph)), 0.0);
}

LATHE_TEST(TestCasts);
#include "casts_test.moc"
