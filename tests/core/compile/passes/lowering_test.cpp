#include "core/compile/passes/lowering.h"

#include "core/compile/ir/operands.h"
#include "core/compile/ir/text.h"
#include "core/compile/passes/fuse.h"
#include "tests/core/compile/passes/graph_check.h"
#include "tests/core/compile/passes/program_runner.h"
#include "tests/support/test_main.h"

using namespace lathe;
using namespace lathe::testing;

namespace {

// Each line is a call; T stands for the type under test, %0 and %1 are [s0, 6], %2 is [6], %3 are conditions [s0, 6],
// %4 is positive.
const char* const kCalls = R"(T abs(%0)
T add.Tensor(%0, %1, 1)
T add.Tensor(%0, %2, 0.5)
T add.Scalar(%0, 0.3, 2)
T addcdiv(%0, %1, %4, 0.5)
T addcmul(%0, %1, %2, 2)
T ceil(%0)
T clamp(%0, -0.5, none)
T clamp(%0, -0.5, 0.25)
T clamp_min(%0, 0.1)
T clone(%0, none)
T cos(%0)
T div.Tensor(%0, %4)
T div.Scalar(%0, s0)
T elu(%0, 1.5, 1.1, 0.9)
T elu_backward(%1, 1.5, 1.1, 0.9, false, %0)
T elu_backward(%1, 1.0, 1.0, 1.0, true, %0)
bool eq.Tensor(%0, %0)
T erf(%0)
T exp(%0)
T expm1(%0)
T fill.Scalar(%0, 0.3)
T floor(%0)
bool ge.Scalar(%0, 0.1)
T gelu(%0, "none")
T gelu(%0, "tanh")
T gelu_backward(%1, %0, "none")
T gelu_backward(%1, %0, "tanh")
bool gt.Tensor(%0, %2)
bool le.Tensor(%0, %2)
T lerp.Scalar(%0, %1, 0.7)
T lerp.Tensor(%0, %1, %4)
T log(%4)
T log1p(%4)
bool logical_and(%3, %3)
bool logical_not(%3)
bool bitwise_and.Tensor(%3, %3)
bool lt.Scalar(%0, 0)
T masked_fill.Scalar(%0, %3, -inf)
T maximum(%0, %1)
T minimum(%0, %2)
T mul.Tensor(%0, %2)
T mul.Tensor(%0, 0.25)
T mul.Tensor(%0, %3)
bool ne.Scalar(%0, 0)
T neg(%0)
T pow.Tensor_Scalar(%4, 0.5)
T pow.Tensor_Scalar(%0, 2)
T pow.Tensor_Scalar(%0, 3)
T pow.Tensor_Scalar(%4, -0.5)
T pow.Tensor_Scalar(%4, -1)
T pow.Tensor_Scalar(%4, 1.7)
T reciprocal(%4)
T relu(%0)
T round(%0)
T rsqrt(%4)
T rsub.Scalar(%0, 1, 1)
T sigmoid(%0)
T sigmoid_backward(%1, %0)
T silu(%0)
T silu_backward(%1, %0)
T sin(%0)
T softplus(%0, 2, 1)
T softplus_backward(%1, %0, 2, 1)
T sqrt(%4)
T sub.Tensor(%0, %1, 1)
T tanh(%0)
T tanh_backward(%1, %0)
T threshold_backward(%1, %0, 0)
T where.self(%3, %0, %1)
bf16 _to_copy(%0, :bf16, none, none, none, false, none)
f32 _to_copy(%0, :f32, none, none, none, false, none)
f32 _to_copy(%3, :f32, none, none, none, false, none)
i64 _to_copy(%3, :i64, none, none, none, false, none)
)";

}  // namespace

class TestLowering : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void initTestCase();
  void computesEachOperator_data();
  void computesEachOperator();
  void leavesOthersAlone();

 private:
  ProgramRunner runner_;
};

void TestLowering::initTestCase() {
  if (!runner_.usable()) QSKIP("no C++ compiler here");
}

void TestLowering::computesEachOperator_data() {
  QTest::addColumn<QString>("type");
  QTest::addColumn<double>("tolerance");
  QTest::newRow("f32") << "f32" << 1e-6;
  QTest::newRow("f64") << "f64" << 1e-9;     // the interpreter's slopes are central differences
  QTest::newRow("bf16") << "bf16" << 0.008;  // one rounding to the other side, 2⁻⁷
}

// One graph with a node for each line, so that the compiler runs once.
void TestLowering::computesEachOperator() {
  QFETCH(QString, type);
  QFETCH(double, tolerance);
  QString text =
      "symbol s0: input_dim %0 dim 0 hint 4 min 2\ninput %0: T[s0, 6] strides [6, 1]\n"
      "input %1: T[s0, 6] strides [6, 1]\ninput %2: T[6] strides [1]\ninput %3: bool[s0, 6] strides [6, 1]\n"
      "input %4: T[s0, 6] strides [6, 1]\n";
  QStringList outputs;
  int next = 5;
  const QStringList lines = QString(kCalls).split('\n', Qt::SkipEmptyParts);
  for (const QString& line : lines) {
    const qsizetype space = line.indexOf(' ');
    text += QString("%%1: %2[s0, 6] strides [6, 1] = %3\n").arg(next).arg(line.left(space), line.mid(space + 1));
    outputs << QString("output %%1\n").arg(next++);
  }
  text += outputs.join("");
  text.replace("T[", type + "[");
  const ir::Graph graph = ir::parse(text.toStdString());
  Interpreter expected(graph, {5}), actual(graph, {5});
  for (Interpreter* interpreter : {&expected, &actual}) {
    interpreter->fill_leaves();
    StridedArray positive = interpreter->get(4);
    for_each_index(positive.sizes,
                   [&](const Index& index) { positive.set(index, std::abs(positive.get(index)) + 0.25); });
  }
  expected.run_all();
  std::vector<std::int32_t> nodes;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) nodes.push_back(static_cast<std::int32_t>(i));
  const ir::Program program = passes::fuse(graph, nodes, graph.outputs);
  for (const ir::Step& step : program.steps) QCOMPARE(step.kind, ir::Step::Kind::kernel);
  runner_.run(program, actual);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const ir::ValueId id = graph.nodes[i].results[0];
    const double off = difference(actual.get(id), expected.get(id));
    QVERIFY2(off <= tolerance,
             qPrintable(QString("%1 off by %2").arg(QString::fromStdString(ir::print_call(graph.nodes[i]))).arg(off)));
  }
}

void TestLowering::leavesOthersAlone() {
  const ir::Graph graph = ir::parse(R"(symbol s0: input_dim %0 dim 0 hint 4 min 2
input %0: f32[s0] strides [1]
input %1: i64[4] strides [1]
%2: f32[4] strides [1] = div.Tensor_mode(%0, %0, "floor")
%3: f32[4] strides [1] = bernoulli.p(%0, 0.5, none) draw 0
%4: i64[4] strides [1] = bitwise_and.Tensor(%1, %1)
%5: i64[4] strides [1] = add.Tensor(%1, %1, 1)
%6: f32[s0] strides [1] = add.Tensor(%0, %0, s0)
)");
  QVERIFY(!passes::can_lower(graph, graph.nodes[0]));
  QVERIFY(!passes::can_lower(graph, graph.nodes[1]));
  QVERIFY(!passes::can_lower(graph, graph.nodes[2]));
  QVERIFY(passes::can_lower(graph, graph.nodes[3]));
  QVERIFY(!passes::can_lower(graph, graph.nodes[4]));
}

LATHE_TEST(TestLowering);
#include "lowering_test.moc"
