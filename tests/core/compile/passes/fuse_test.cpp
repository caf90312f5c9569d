#include "core/compile/passes/fuse.h"

#include <algorithm>

#include "core/compile/ir/operands.h"
#include "core/compile/ir/text.h"
#include "core/compile/passes/casts.h"
#include "core/compile/passes/cse.h"
#include "core/compile/passes/dead_code.h"
#include "core/compile/passes/decompose.h"
#include "core/compile/passes/fold.h"
#include "core/compile/passes/partition.h"
#include "tests/core/compile/passes/graph_check.h"
#include "tests/core/compile/passes/program_runner.h"
#include "tests/core/compile/passes/random_graph.h"
#include "tests/support/test_main.h"

using namespace lathe;
using namespace lathe::testing;
using ir::Step;

namespace {

ir::Program fuse_all(const ir::Graph& graph) {
  std::vector<std::int32_t> nodes;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) nodes.push_back(static_cast<std::int32_t>(i));
  return passes::fuse(graph, nodes, results_of(graph));
}

// "view t, kernel mean sub mul → %5 %7, library mm"
QString steps(const ir::Graph& graph, const ir::Program& program) {
  QStringList parts;
  for (const Step& step : program.steps) {
    if (step.kind != Step::Kind::kernel) {
      const ir::Node& node = graph.nodes[static_cast<std::size_t>(step.index)];
      parts << (step.kind == Step::Kind::view ? "view " : "library ") + QString::fromStdString(node.op);
      continue;
    }
    const ir::KernelSpec& kernel = program.kernels[static_cast<std::size_t>(step.index)];
    QStringList words = {"kernel"};
    for (const std::string& op : kernel.replaced) words << QString::fromStdString(std::string(ir::plain_name(op)));
    words << "→";
    for (const ir::ValueId id : kernel.outputs) words << QString("%%1").arg(id);
    parts << words.join(" ");
  }
  return parts.join(", ");
}

int count(const ir::Program& program, Step::Kind kind) {
  return static_cast<int>(
      std::count_if(program.steps.begin(), program.steps.end(), [&](const Step& step) { return step.kind == kind; }));
}

}  // namespace

class TestFuse : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void initTestCase();
  void fusesANormWithItsNeighbours();
  void readsThroughViews();
  void keepsAProductBetweenApart();
  void leavesColumnSumsToTheLibrary();
  void keepsDevicesApart();
  void readsNumbersThatBecameTensors();
  void ordersDrawsAsRecorded();
  void givesEqualKernelsOneName();
  void computesMovement_data();
  void computesMovement();
  void computesRandomGraphs_data();
  void computesRandomGraphs();
  void computesABlock_data();
  void computesABlock();

 private:
  double run(const ir::Graph& graph, const ir::Program& program, const std::vector<std::int64_t>& symbols);
  ProgramRunner runner_;
};

void TestFuse::initTestCase() {
  if (!runner_.usable()) QSKIP("no C++ compiler here");
}

double TestFuse::run(const ir::Graph& graph, const ir::Program& program, const std::vector<std::int64_t>& symbols) {
  Interpreter expected(graph, symbols), actual(graph, symbols);
  for (Interpreter* interpreter : {&expected, &actual}) interpreter->fill_leaves();
  expected.run_all();
  runner_.run(program, actual);
  double worst = 0;
  for (const ir::ValueId id : results_of(graph)) worst = std::max(worst, difference(actual.get(id), expected.get(id)));
  return worst;
}

void TestFuse::fusesANormWithItsNeighbours() {
  ir::Graph graph = ir::parse(R"(symbol s0: input_dim %0 dim 0 hint 4 min 2
symbol s1: input_dim %0 dim 1 hint 9 min 2
input %0: bf16[s0, s1, 16] strides [16*s1, 16, 1]
input %1: bf16[s0, 1, 16] strides [16, 16, 1]
parameter %2: bf16[8, 16] strides [16, 1]
%3: bf16[s0, s1, 16] strides [16*s1, 16, 1], %4: f32[s0, s1, 1] strides [s1, 1, 1], %5: f32[s0, s1, 1] strides [s1, 1, 1] = native_layer_norm(%0, [16], none, none, 1e-06)
%6: bf16[s0, 1, 16] strides [16, 16, 1] = add.Tensor(%1, 1, 1)
%7: bf16[s0, s1, 16] strides [16*s1, 16, 1] = mul.Tensor(%3, %6)
%8: bf16[s0, s1, 16] strides [16*s1, 16, 1] = add.Tensor(%7, %1, 1)
%9: bf16[s0*s1, 16] strides [16, 1] = view(%8, [s0*s1, 16])
%10: bf16[16, 8] strides [1, 16] = t(%2)
%11: bf16[s0*s1, 8] strides [8, 1] = mm(%9, %10)
%12: bf16[s0*s1, 8] strides [8, 1] = mul.Tensor(%11, 0.25)
%13: bf16[s0*s1, 8] strides [8, 1] = gelu(%12, "none")
output %13
output %5
)");
  passes::decompose(graph);
  passes::remove_dead_code(graph);
  const ir::Program program = fuse_all(graph);
  QCOMPARE(steps(graph, program), QString("kernel mean sub mean rsqrt mul _to_copy mul add → %5 %8, view view, "
                                          "view t, library mm, kernel gelu → %13"));
  const ir::KernelSpec& norm = program.kernels[0];
  QCOMPARE(norm.domain.size(), std::size_t{3});
  QCOMPARE(norm.sweeps, 3);
  QCOMPARE(norm.inputs, (std::vector<ir::ValueId>{1, 0}));
  QVERIFY(norm.stores[0].once_a_row);
  QCOMPARE(program.inputs, (std::vector<ir::ValueId>{1, 0, 2}));
  QCOMPARE(program.outputs, (std::vector<ir::ValueId>{13, 5}));
  QCOMPARE(program.steps[3].frees, (std::vector<ir::ValueId>{2, 8, 9, 10}));
  QVERIFY(run(graph, program, {3, 7}) <= 0.008);
}

// A head's half, the transpose and the broadcast row are read where they lie; nothing is copied or shown.
void TestFuse::readsThroughViews() {
  const ir::Graph graph = ir::parse(R"(symbol s0: input_dim %0 dim 0 hint 4 min 2
input %0: f32[s0, 12] strides [12, 1]
input %1: f32[6, s0] strides [s0, 1]
%2: f32[s0, 2, 6] strides [12, 6, 1] = view(%0, [s0, 2, 6])
%3: f32[s0, 6] strides [12, 1] = select.int(%2, 1, 1)
%4: f32[s0, 6] strides [1, s0] = t(%1)
%5: f32[s0, 6] strides [12, 1], %6: f32[s0, 6] strides [12, 1] = split.Tensor(%0, 6, 1)
%7: f32[6] strides [1] = select.int(%6, 0, -1)
%8: f32[1, 6] strides [6, 1] = unsqueeze(%7, 0)
%9: f32[s0, 6] strides [0, 1] = expand(%8, [s0, 6], false)
%10: f32[s0, 6] strides [6, 1] = mul.Tensor(%3, %4)
%11: f32[s0, 6] strides [6, 1] = add.Tensor(%10, %5, 1)
%12: f32[s0, 6] strides [6, 1] = mul.Tensor(%11, %9)
output %12
)");
  const ir::Program program = fuse_all(graph);
  QCOMPARE(steps(graph, program), QString("kernel mul add mul → %12"));
  QVERIFY(run(graph, program, {5}) <= 1e-6);
}

// exp and sin could share a kernel, but for the product that needs one and feeds the other.
void TestFuse::keepsAProductBetweenApart() {
  const ir::Graph graph = ir::parse(R"(input %0: f32[4, 4] strides [4, 1]
%1: f32[4, 4] strides [4, 1] = exp(%0)
%2: f32[4, 4] strides [4, 1] = mm(%1, %1)
%3: f32[4, 4] strides [4, 1] = mul.Tensor(%2, %1)
output %3
)");
  const ir::Program program = fuse_all(graph);
  QCOMPARE(steps(graph, program), QString("kernel exp → %1, library mm, kernel mul → %3"));
  QVERIFY(run(graph, program, {}) <= 1e-6);
}

void TestFuse::leavesColumnSumsToTheLibrary() {
  const ir::Graph graph = ir::parse(R"(input %0: f32[4, 6] strides [6, 1]
%1: f32[4, 6] strides [6, 1] = exp(%0)
%2: f32[6] strides [1] = sum.dim_IntList(%1, [0], false, none)
output %2
)");
  const ir::Program program = fuse_all(graph);
  QCOMPARE(steps(graph, program), QString("kernel exp → %1, library sum.dim_IntList"));
  QCOMPARE(program.not_fused.size(), std::size_t{1});
  QCOMPARE(program.not_fused[0].node, 1);
  QVERIFY(QString::fromStdString(program.not_fused[0].reason).contains("last dimension"));
}

void TestFuse::keepsDevicesApart() {
  const ir::Graph graph = ir::parse(R"(input %0: f32[4] strides [1] @cuda:0
input %1: f32[] strides []
%2: f32[4] strides [1] @cuda:0 = mul.Tensor(%0, %1)
%3: f32[4] strides [1] @cuda:0 = exp(%2)
%4: f32[4] strides [1] = _to_copy(%3, :f32, none, @cpu, none, false, none)
output %4
)");
  QCOMPARE(steps(graph, fuse_all(graph)), QString("library mul.Tensor, kernel exp → %3, library _to_copy"));
}

void TestFuse::readsNumbersThatBecameTensors() {
  ir::Graph graph = ir::parse(R"(input %0: f32[4] strides [1]
%1: f64[] strides [] = lathe::wrapped_number(0.3, :f64)
%2: f32[4] strides [1] = mul.Tensor(%0, %1)
%3: bool[4] strides [1] = ge.Tensor(%2, %1)
%4: f64[] strides [] = lathe::wrapped_number(1.0, :f64)
%5: f32[4] strides [1] = mul.Tensor(%2, %4)
%6: f32[4] strides [1] = exp(%5)
output %3
output %6
)");
  passes::fold(graph);
  passes::remove_dead_code(graph);
  QCOMPARE(count_nodes(graph, "mul"), 1);
  const ir::Program program = fuse_all(graph);
  QCOMPARE(steps(graph, program), QString("kernel ge exp → %3 %6"));
  QVERIFY(run(graph, program, {}) <= 1e-6);
}

void TestFuse::ordersDrawsAsRecorded() {
  const ir::Graph graph = ir::parse(R"(input %0: f32[4] strides [1]
%1: f32[4] strides [1] = exp(%0)
%2: f32[4] strides [1] = bernoulli.p(%1, 0.5, none) draw 0
%3: f32[4] strides [1] = bernoulli.p(%0, 0.5, none) draw 1
%4: f32[4] strides [1] = mul.Tensor(%2, %3)
output %4
)");
  QCOMPARE(steps(graph, fuse_all(graph)),
           QString("kernel exp → %1, library bernoulli.p, library bernoulli.p, kernel mul → %4"));
}

void TestFuse::givesEqualKernelsOneName() {
  const ir::Graph graph = ir::parse(R"(symbol s0: input_dim %0 dim 0 hint 4 min 2
symbol s1: input_dim %1 dim 0 hint 6 min 2
input %0: f32[s0, 6] strides [6, 1]
input %1: f32[s1, 6] strides [6, 1]
input %2: f32[s1, 7] strides [7, 1]
%3: bf16[s0, 6] strides [6, 1] = _to_copy(%0, :bf16, none, none, none, false, none)
%4: bf16[s1, 6] strides [6, 1] = _to_copy(%1, :bf16, none, none, none, false, none)
%5: bf16[s1, 7] strides [7, 1] = _to_copy(%2, :bf16, none, none, none, false, none)
output %3
output %4
output %5
)");
  const ir::Program program = fuse_all(graph);
  QCOMPARE(program.kernels.size(), std::size_t{3});
  QCOMPARE(program.kernels[0].name, program.kernels[1].name);
  QVERIFY(program.kernels[0].name != program.kernels[2].name);
  QCOMPARE(run(graph, program, {3, 5}), 0.0);
}

void TestFuse::computesMovement_data() {
  QTest::addColumn<QString>("calls");
  QTest::addColumn<QString>("expected");
  const QString half =
      "%2: f32[s0, 3] strides [6, 1] = slice.Tensor(%0, 1, 3, 9223372036854775807, 1)\n"
      "%3: f32[s0, 3] strides [3, 1] = neg(%2)\n"
      "%4: f32[s0, 3] strides [6, 1] = slice.Tensor(%0, 1, 0, 3, 1)\n"
      "%5: f32[s0, 6] strides [6, 1] = cat({%3, %4}, -1)\n";
  QTest::newRow("rotated half") << half + "%6: f32[s0, 6] strides [6, 1] = mul.Tensor(%5, %0)\noutput %6\n"
                                << "kernel cat mul → %6";
  QTest::newRow("rotated half of a norm")
      << QString(half)
                 .replace("(%0, 1", "(%9, 1")
                 .prepend(
                     "%7: f32[s0, 1] strides [1, 1] = sum.dim_IntList(%0, [1], true, none)\n"
                     "%8: f32[s0, 6] strides [6, 1] = mul.Tensor(%0, %7)\n"
                     "%9: f32[s0, 6] strides [6, 1] = exp(%8)\n") +
             "output %5\n"
      << "";
  QTest::newRow("gradient of slices")
      << "%2: f32[s0, 6] strides [6, 1] = slice_backward(%1, [s0, 6], 1, 0, 2, 1)\n"
         "%3: f32[s0, 6] strides [6, 1] = slice_backward(%1, [s0, 6], -1, -2, 9223372036854775807, 1)\n"
         "%4: f32[s0, 6] strides [6, 1] = add.Tensor(%2, %3, 1)\noutput %4\n"
      << "kernel slice_backward slice_backward add → %4";
  QTest::newRow("gradient of a selection")
      << "%2: f32[s0] strides [6] = select.int(%0, 1, 2)\n"
         "%3: f32[s0, 6] strides [6, 1] = select_backward(%2, [s0, 6], 1, -2)\noutput %3\n"
      << "kernel select_backward → %3";
  QTest::newRow("padding") << "%2: f32[s0 + 3, 9] strides [9, 1] = constant_pad_nd(%0, [2, 1, 1, 2], 0.5)\noutput %2\n"
                           << "kernel constant_pad_nd → %2";
  QTest::newRow("flip") << "%2: f32[s0, 6] strides [6, 1] = flip(%0, [1])\n"
                           "%3: f32[s0, 6] strides [6, 1] = sub.Tensor(%2, %0, 1)\noutput %3\n"
                        << "kernel flip sub → %3";
  QTest::newRow("running sums from both ends") << "%2: f32[s0, 6] strides [6, 1] = cumsum(%0, -1, none)\n"
                                                  "%3: f32[s0, 6] strides [6, 1] = flip(%2, [1])\n"
                                                  "%4: f32[s0, 6] strides [6, 1] = cumsum(%3, 1, none)\n"
                                                  "%5: f32[s0, 6] strides [6, 1] = flip(%4, [-1])\noutput %5\n"
                                               << "";
  QTest::newRow("rows of rows") << "%2: f32[3*s0, 6] strides [6, 1] = cat({%0, %0, %0}, 0)\n"
                                   "%3: f32[3*s0] strides [1] = sum.dim_IntList(%2, [-1], false, none)\n"
                                   "output %3\n"
                                << "";
  QTest::newRow("positions") << "%2: f32[6] strides [1] = arange.start_step(1, 13, 2, :f32, none, none, none)\n"
                                "%3: f32[s0, 6] strides [6, 1] = full([s0, 6], 2.5, :f32, none, none, none)\n"
                                "%4: f32[s0, 6] strides [6, 1] = mul.Tensor(%0, %2)\n"
                                "%5: f32[s0, 6] strides [6, 1] = add.Tensor(%4, %3, 1)\noutput %5\n"
                             << "kernel mul add → %5";
  QTest::newRow("softmax") << "%2: f32[s0, 6] strides [6, 1] = _softmax(%0, 1, false)\n"
                              "%3: f32[s0, 6] strides [6, 1] = _softmax_backward_data(%0, %2, 1, :f32)\n"
                              "output %2\noutput %3\n"
                           << "kernel amax sub exp sum div mul sum sub mul → %2 %3";
}

void TestFuse::computesMovement() {
  QFETCH(QString, calls);
  QFETCH(QString, expected);
  ir::Graph graph = ir::parse(("symbol s0: input_dim %0 dim 0 hint 4 min 2\ninput %0: f32[s0, 6] strides [6, 1]\n"
                               "input %1: f32[s0, 2] strides [2, 1]\n" +
                               calls)
                                  .toStdString());
  passes::decompose(graph);
  const ir::Program program = fuse_all(graph);
  if (!expected.isEmpty()) QCOMPARE(steps(graph, program), expected);
  QCOMPARE(count(program, Step::Kind::library), 0);
  const double worst = run(graph, program, {5});
  QVERIFY2(worst <= 1e-6, qPrintable(QString::number(worst)));
}

void TestFuse::computesRandomGraphs_data() {
  QTest::addColumn<unsigned>("seed");
  QTest::addColumn<bool>("half");
  for (unsigned seed = 1; seed <= 6; ++seed) {
    QTest::addRow("f32 %u", seed) << seed << false;
    if (seed <= 3) QTest::addRow("bf16 %u", seed) << seed << true;
  }
}

void TestFuse::computesRandomGraphs() {
  QFETCH(unsigned, seed);
  QFETCH(bool, half);
  const ir::Graph graph = random_graph(seed, 60, half);
  LATHE_VALID(graph);
  const ir::Program program = fuse_all(graph);
  QVERIFY(count(program, Step::Kind::kernel) > 0);
  // Values pass through up to twenty operators; with bf16 each may round to the other side.
  const double worst = run(graph, program, other_sizes(graph));
  QVERIFY2(worst <= (half ? 0.06 : 2e-5), qPrintable(QString::number(worst)));
}

void TestFuse::computesABlock_data() {
  QTest::addColumn<QString>("name");
  QTest::addColumn<double>("budget");
  QTest::addColumn<int>("kernels");  // at most, both directions
  QTest::newRow("anima f32") << "anima_block_f32" << 1.0 << 30;
  QTest::newRow("anima f32, some recomputed") << "anima_block_f32" << 0.3 << 40;
  QTest::newRow("anima f32, all recomputed") << "anima_block_f32" << 0.0 << 40;
  QTest::newRow("anima bf16") << "anima_block_bf16" << 1.0 << 90;
  QTest::newRow("adapter f32") << "adapter_block_f32" << 1.0 << 35;
}

void TestFuse::computesABlock() {
  QFETCH(QString, name);
  QFETCH(double, budget);
  QFETCH(int, kernels);
  ir::Graph graph = load_graph(name.toStdString());
  const ir::Graph before = graph;
  passes::decompose(graph);
  passes::fold(graph);
  passes::fold_casts(graph);
  passes::merge_common_subexpressions(graph);
  passes::remove_dead_code(graph);
  const ir::Partition cut = passes::partition(graph, {.budget = budget});
  std::vector<ir::ValueId> kept = graph.outputs;
  kept.insert(kept.end(), cut.saved.begin(), cut.saved.end());
  std::vector<ir::ValueId> gradients = graph.input_gradients;
  gradients.insert(gradients.end(), graph.parameter_gradients.begin(), graph.parameter_gradients.end());
  const ir::Program forward = passes::fuse(graph, cut.forward, kept);
  const ir::Program backward = passes::fuse(graph, cut.backward, gradients);
  QVERIFY(count(forward, Step::Kind::kernel) + count(backward, Step::Kind::kernel) <= kernels);

  Interpreter expected(before, other_sizes(graph)), first(graph, other_sizes(graph)), second(graph, other_sizes(graph));
  for (Interpreter* interpreter : {&expected, &first, &second}) interpreter->fill_leaves();
  expected.run_all();
  runner_.run(forward, first);
  for (const ir::ValueId id : cut.saved) second.set(id, first.get(id));
  runner_.run(backward, second);
  const std::vector<ir::ValueId> was = results_of(before), is = results_of(graph);
  double worst = 0;
  for (std::size_t i = 0; i < is.size(); ++i)
    worst = std::max(worst, difference((i < graph.outputs.size() ? first : second).get(is[i]), expected.get(was[i])));
  // bf16: each of some twenty roundings in a row may go to the other side.
  QVERIFY2(worst <= (name.contains("bf16") ? 0.05 : 1e-5), qPrintable(QString::number(worst)));
}

LATHE_TEST(TestFuse);
#include "fuse_test.moc"
