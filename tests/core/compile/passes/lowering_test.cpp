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
const char* const kCalls = R"(T aten::abs(%0)
T aten::add.Tensor(%0, %1, 1)
T aten::add.Tensor(%0, %2, 0.5)
T aten::add.Scalar(%0, 0.3, 2)
T aten::addcdiv(%0, %1, %4, 0.5)
T aten::addcmul(%0, %1, %2, 2)
T aten::ceil(%0)
T aten::clamp(%0, -0.5, none)
T aten::clamp(%0, -0.5, 0.25)
T aten::clamp_min(%0, 0.1)
T aten::clone(%0, none)
T aten::cos(%0)
T aten::div.Tensor(%0, %4)
T aten::div.Scalar(%0, s0)
T aten::elu(%0, 1.5, 1.1, 0.9)
T aten::elu_backward(%1, 1.5, 1.1, 0.9, false, %0)
T aten::elu_backward(%1, 1.0, 1.0, 1.0, true, %0)
bool aten::eq.Tensor(%0, %0)
T aten::erf(%0)
T aten::exp(%0)
T aten::expm1(%0)
T aten::fill.Scalar(%0, 0.3)
T aten::floor(%0)
bool aten::ge.Scalar(%0, 0.1)
T aten::gelu(%0, "none")
T aten::gelu(%0, "tanh")
T aten::gelu_backward(%1, %0, "none")
T aten::gelu_backward(%1, %0, "tanh")
bool aten::gt.Tensor(%0, %2)
bool aten::le.Tensor(%0, %2)
T aten::lerp.Scalar(%0, %1, 0.7)
T aten::lerp.Tensor(%0, %1, %4)
T aten::log(%4)
T aten::log1p(%4)
bool aten::logical_and(%3, %3)
bool aten::logical_not(%3)
bool aten::bitwise_and.Tensor(%3, %3)
bool aten::lt.Scalar(%0, 0)
T aten::masked_fill.Scalar(%0, %3, -inf)
T aten::maximum(%0, %1)
T aten::minimum(%0, %2)
T aten::mul.Tensor(%0, %2)
T aten::mul.Tensor(%0, 0.25)
T aten::mul.Tensor(%0, %3)
bool aten::ne.Scalar(%0, 0)
T aten::neg(%0)
T aten::pow.Tensor_Scalar(%4, 0.5)
T aten::pow.Tensor_Scalar(%0, 2)
T aten::pow.Tensor_Scalar(%0, 3)
T aten::pow.Tensor_Scalar(%4, -0.5)
T aten::pow.Tensor_Scalar(%4, -1)
T aten::pow.Tensor_Scalar(%4, 1.7)
T aten::reciprocal(%4)
T aten::relu(%0)
T aten::round(%0)
T aten::rsqrt(%4)
T aten::rsub.Scalar(%0, 1, 1)
T aten::sigmoid(%0)
T aten::sigmoid_backward(%1, %0)
T aten::silu(%0)
T aten::silu_backward(%1, %0)
T aten::sin(%0)
T aten::softplus(%0, 2, 1)
T aten::softplus_backward(%1, %0, 2, 1)
T aten::sqrt(%4)
T aten::sub.Tensor(%0, %1, 1)
T aten::tanh(%0)
T aten::tanh_backward(%1, %0)
T aten::threshold_backward(%1, %0, 0)
T aten::where.self(%3, %0, %1)
bf16 aten::_to_copy(%0, :bf16, none, none, none, false, none)
f32 aten::_to_copy(%0, :f32, none, none, none, false, none)
f32 aten::_to_copy(%3, :f32, none, none, none, false, none)
i64 aten::_to_copy(%3, :i64, none, none, none, false, none)
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
%2: f32[4] strides [1] = aten::div.Tensor_mode(%0, %0, "floor")
%3: f32[4] strides [1] = aten::bernoulli.p(%0, 0.5, none) draw 0
%4: i64[4] strides [1] = aten::bitwise_and.Tensor(%1, %1)
%5: i64[4] strides [1] = aten::add.Tensor(%1, %1, 1)
%6: f32[s0] strides [1] = aten::add.Tensor(%0, %0, s0)
)");
  QVERIFY(!passes::can_lower(graph, graph.nodes[0]));
  QVERIFY(!passes::can_lower(graph, graph.nodes[1]));
  QVERIFY(!passes::can_lower(graph, graph.nodes[2]));
  QVERIFY(passes::can_lower(graph, graph.nodes[3]));
  QVERIFY(!passes::can_lower(graph, graph.nodes[4]));
}

LATHE_TEST(TestLowering);
#include "lowering_test.moc"
