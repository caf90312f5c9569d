#include "core/compile/passes/decompose.h"

#include "core/compile/ir/text.h"
#include "core/compile/passes/dead_code.h"
#include "tests/core/compile/passes/graph_check.h"
#include "tests/support/test_main.h"

using namespace lathe;
using namespace lathe::testing;

class TestDecompose : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void writesLayerNormAsParts();
  void leavesOtherDimensionsWhole();
  void keepsValues_data();
  void keepsValues();
  void keepsTheValuesOfABlock_data();
  void keepsTheValuesOfABlock();
};

void TestDecompose::writesLayerNormAsParts() {
  ir::Graph graph = ir::parse(R"(input %0: bf16[4, 6] strides [6, 1]
parameter %1: bf16[6] strides [1]
%2: bf16[4, 6] strides [6, 1], _, %3: bf16[4, 1] strides [1, 1] = native_layer_norm(%0, [6], %1, none, 1e-06)
output %2
output %3
)");
  QVERIFY(passes::decompose(graph));
  LATHE_VALID(graph);
  QCOMPARE(QString::fromStdString(ir::print(graph)), QString(R"(input %0: bf16[4, 6] strides [6, 1]
parameter %1: bf16[6] strides [1]
%4: f32[4, 6] strides [6, 1] = _to_copy(%0, :f32, none, none, none, false, none)
%5: f32[4, 1] strides [1, 1] = mean.dim(%4, [-1], true, none)
%6: f32[4, 6] strides [6, 1] = sub.Tensor(%4, %5, 1)
%7: f32[4, 6] strides [6, 1] = mul.Tensor(%6, %6)
%8: f32[4, 1] strides [1, 1] = mean.dim(%7, [-1], true, none)
%9: f32[4, 1] strides [1, 1] = add.Scalar(%8, 1e-06, 1)
%10: f32[4, 1] strides [1, 1] = rsqrt(%9)
%3: bf16[4, 1] strides [1, 1] = _to_copy(%10, :bf16, none, none, none, false, none)
%11: f32[4, 6] strides [6, 1] = mul.Tensor(%6, %10)
%12: f32[6] strides [1] = _to_copy(%1, :f32, none, none, none, false, none)
%13: f32[4, 6] strides [6, 1] = mul.Tensor(%11, %12)
%2: bf16[4, 6] strides [6, 1] = _to_copy(%13, :bf16, none, none, none, false, none)
output %2
output %3
)"));
}

void TestDecompose::leavesOtherDimensionsWhole() {
  ir::Graph graph = ir::parse(R"(input %0: f32[4, 6] strides [6, 1]
%1: f32[4, 6] strides [6, 1] = _softmax(%0, 0, false)
%2: f32[4, 6] strides [6, 1], _, _ = native_layer_norm(%0, [4, 6], none, none, 1e-06)
output %1
output %2
)");
  QVERIFY(!passes::decompose(graph));
}

void TestDecompose::keepsValues_data() {
  QTest::addColumn<QString>("calls");
  QTest::newRow("layer norm")
      << "%4: T[s0, 5, 6] strides [30, 6, 1], %5: f32[s0, 5, 1] strides [5, 1, 1], %6: f32[s0, 5, 1] strides [5, 1, 1]"
         " = native_layer_norm(%0, [6], %2, %3, 1e-05)\noutput %4\noutput %5\noutput %6\n";
  QTest::newRow("layer norm backward")
      << "%4: T[s0, 5, 6] strides [30, 6, 1], %5: T[s0, 5, 1] strides [5, 1, 1], %6: T[s0, 5, 1] strides [5, 1, 1]"
         " = native_layer_norm(%0, [6], %2, %3, 1e-05)\n"
         "%7: T[s0, 5, 6] strides [30, 6, 1], %8: T[6] strides [1], %9: T[6] strides [1] = "
         "native_layer_norm_backward(%1, %0, [6], %5, %6, %2, %3, b[true, true, true])\n"
         "output %7\noutput %8\noutput %9\n";
  QTest::newRow("layer norm backward of the input alone")
      << "%4: T[s0, 5, 6] strides [30, 6, 1], %5: T[s0, 5, 1] strides [5, 1, 1], %6: T[s0, 5, 1] strides [5, 1, 1]"
         " = native_layer_norm(%0, [6], none, none, 1e-05)\n"
         "%7: T[s0, 5, 6] strides [30, 6, 1], _, _ = "
         "native_layer_norm_backward(%1, %0, [6], %5, %6, none, none, b[true, false, false])\noutput %7\n";
  for (const char* name : {"_softmax", "_log_softmax"}) {
    QTest::newRow(name) << QString(
                               "%4: T[s0, 5, 6] strides [30, 6, 1] = NAME(%0, -1, false)\n"
                               "%5: T[s0, 5, 6] strides [30, 6, 1] = NAME_backward_data(%1, %4, 2, :T)\n"
                               "output %4\noutput %5\n")
                               .replace("NAME", name);
  }
  QTest::newRow("safe softmax") << "%4: bool[s0, 5, 6] strides [30, 6, 1] = gt.Scalar(%0, 1.2)\n"
                                   "%5: T[] strides [] = scalar_tensor(-inf, :T, none, none, none)\n"
                                   "%6: T[s0, 5, 6] strides [30, 6, 1] = where.self(%4, %0, %5)\n"
                                   "%7: T[s0, 5, 6] strides [30, 6, 1] = _safe_softmax(%6, -1, none)\n"
                                   "output %7\n";
  for (const int reduction : {0, 1, 2}) {
    const QString sizes = reduction == 0 ? "[s0, 5, 6] strides [30, 6, 1]" : "[] strides []";
    QTest::addRow("mse loss %d", reduction)
        << QString(
               "%4: f32%1 = mse_loss(%0, %1, %2)\n"
               "%5: f32[s0, 5, 6] strides [30, 6, 1] = mse_loss_backward(%4, %0, %1, %2)\n"
               "output %4\noutput %5\n")
               .replace("f32%1", "f32" + sizes)
               .replace("%1, %2", QString("%1, ") + QString::number(reduction));
  }
  QTest::newRow("norm") << "%4: T[s0, 5, 1] strides [5, 1, 1] = linalg_vector_norm(%0, 2, [-1], true, none)\n"
                           "output %4\n";
}

void TestDecompose::keepsValues() {
  QFETCH(QString, calls);
  for (const char* type : {"f32", "bf16"}) {
    if (calls.contains("mse") && QString(type) == "bf16") continue;  // autocast runs it in f32
    QString text =
        "symbol s0: input_dim %0 dim 0 hint 4 min 2\ninput %0: T[s0, 5, 6] strides [30, 6, 1]\n"
        "input %1: T[s0, 5, 6] strides [30, 6, 1]\nparameter %2: T[6] strides [1]\n"
        "parameter %3: T[6] strides [1]\n" +
        calls;
    text.replace("T[", QString(type) + "[").replace(":T", QString(":") + type);
    ir::Graph graph = ir::parse(text.toStdString());
    const ir::Graph before = graph;
    QVERIFY(passes::decompose(graph));
    passes::remove_dead_code(graph);
    LATHE_VALID(graph);
    // Each part is rounded to f32 where the interpreter computes the whole in double; bf16 may round to the other side.
    const double worst = change(before, graph, {3});
    QVERIFY2(worst <= (QString(type) == "f32" ? 3e-6 : 1e-2), qPrintable(QString::number(worst)));
  }
}

void TestDecompose::keepsTheValuesOfABlock_data() {
  QTest::addColumn<QString>("name");
  QTest::addColumn<double>("tolerance");
  QTest::newRow("anima f32") << "anima_block_f32" << 1e-5;
  QTest::newRow("anima bf16") << "anima_block_bf16" << 0.05;  // roundings to the other side, some twenty in a row
}

void TestDecompose::keepsTheValuesOfABlock() {
  QFETCH(QString, name);
  QFETCH(double, tolerance);
  ir::Graph graph = load_graph(name.toStdString());
  const ir::Graph before = graph;
  QVERIFY(passes::decompose(graph));
  passes::remove_dead_code(graph);
  LATHE_VALID(graph);
  QCOMPARE(count_nodes(graph, "native_layer_norm"), 0);
  QCOMPARE(count_nodes(graph, "native_layer_norm_backward"), 0);
  const double worst = change(before, graph, other_sizes(graph));
  QVERIFY2(worst <= tolerance, qPrintable(QString::number(worst)));
}

LATHE_TEST(TestDecompose);
#include "decompose_test.moc"
