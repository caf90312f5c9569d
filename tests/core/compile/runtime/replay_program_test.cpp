#include "core/compile/runtime/replay_program.h"

#include <ATen/ATen.h>

#include "core/compile/ir/text.h"
#include "core/compile/passes/partition.h"
#include "core/compile/runtime/program.h"
#include "tests/support/test_main.h"

using namespace lathe;

class TestReplayProgram : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void freesValuesAfterTheirLastReader();
  void givesBothHalves();
  void drawsThatComeTwiceAreKnown();
  void sizesAreEvaluatedOnceASize();
  void kernelsTakeTheirTurn();
};

namespace {

const char* const kGraph = R"(
  input %0: f32[4] strides [1]
  parameter %1: f32[4] strides [1]
  tangent %2: f32[4] strides [1]
  %3: f32[4] strides [1] = mul.Tensor(%0, %1)
  %4: f32[4] strides [1] = exp(%3)
  %5: f32[4] strides [1] = bernoulli.p(%4, 0.5, none) draw 0
  %6: f32[4] strides [1] = mul.Tensor(%4, %5)
  %7: f32[4] strides [1] = backward mul.Tensor(%2, %5)
  %8: f32[4] strides [1] = backward mul.Tensor(%7, %4)
  %9: f32[4] strides [1] = backward mul.Tensor(%8, %1)
  output %6
  input_gradient %9
  parameter_gradient _
)";

using Ids = std::vector<ir::ValueId>;

std::vector<Ids> frees(const ir::Program& program) {
  std::vector<Ids> result;
  for (const ir::Step& step : program.steps) result.push_back(step.frees);
  return result;
}

}  // namespace

void TestReplayProgram::freesValuesAfterTheirLastReader() {
  const ir::Graph graph = ir::parse(kGraph);
  const auto programs = runtime::replay_programs(graph, passes::partition(graph, {.rung = passes::Recompute::nothing}));
  QCOMPARE(frees(programs.forward), (std::vector<Ids>{{0, 1}, {3}, {}, {}}));
  QCOMPARE(programs.forward.inputs, (Ids{0, 1}));
  QCOMPARE(programs.forward.outputs, (Ids{4, 5, 6}));
  QCOMPARE(frees(programs.backward), (std::vector<Ids>{{2, 5}, {4, 7}, {1, 8}}));
  QCOMPARE(programs.backward.outputs, (Ids{9}));
}

void TestReplayProgram::givesBothHalves() {
  const ir::Graph graph = ir::parse(kGraph);
  for (const auto rung : {passes::Recompute::nothing, passes::Recompute::all}) {
    const ir::Partition partition = passes::partition(graph, {.rung = rung});
    auto programs = runtime::replay_programs(graph, partition);
    const auto repeated = runtime::repeated_draws(graph, partition);
    const runtime::Program forward(graph, std::move(programs.forward), {}, repeated);
    const runtime::Program backward(graph, std::move(programs.backward), {}, repeated);

    at::manual_seed(4);
    const at::Tensor x = at::randn({4}), w = at::randn({4}), g = at::randn({4});
    at::manual_seed(5);
    const at::Tensor kept = at::bernoulli(x, 0.5);
    const at::Tensor after = at::rand({1});

    at::manual_seed(5);
    runtime::Frame frame{.values = std::vector<at::Tensor>(graph.values.size()), .draws = std::vector<at::Tensor>(1)};
    frame.values[0] = x;
    frame.values[1] = w;
    QVERIFY(!forward.run(frame));
    QVERIFY(at::equal(frame.values[6], at::exp(x * w) * kept));
    frame.values[0] = x;
    frame.values[1] = w;
    frame.values[2] = g;
    QVERIFY(!backward.run(frame));
    QVERIFY(at::equal(frame.values[9], g * kept * at::exp(x * w) * w));
    QVERIFY(at::equal(at::rand({1}), after));  // the backward draws nothing of its own
  }
}

void TestReplayProgram::drawsThatComeTwiceAreKnown() {
  const ir::Graph graph = ir::parse(kGraph);
  ir::Partition partition = passes::partition(graph, {.rung = passes::Recompute::nothing});
  QCOMPARE(runtime::repeated_draws(graph, partition), std::vector<bool>{false});
  partition.backward.insert(partition.backward.begin(), 2);
  QCOMPARE(runtime::repeated_draws(graph, partition), std::vector<bool>{true});
}

void TestReplayProgram::sizesAreEvaluatedOnceASize() {
  const ir::Graph graph = ir::parse(R"(
    symbol s0: input_dim %0 dim 0 hint 4 min 2
    input %0: f32[s0, 2] strides [2, 1]
    %1: f32[2*s0] strides [1] = view(%0, [2*s0])
    %2: f32[2*s0] strides [1] = exp(%1)
    output %2
    input_gradient _
  )");
  ir::Partition partition;
  partition.forward = {0, 1};
  const runtime::Program program(graph, runtime::replay_programs(graph, partition).forward, {}, {});
  for (const std::int64_t rows : {3, 5, 3}) {
    const at::Tensor x = at::randn({rows, 2});
    runtime::Frame frame{.values = {x, {}, {}}, .symbols = {rows}};
    QVERIFY(!program.run(frame));
    QVERIFY(at::equal(frame.values[2], x.view({-1}).exp()));
  }
}

void TestReplayProgram::kernelsTakeTheirTurn() {
  class Doubles : public runtime::Kernel {
   public:
    void run(std::span<at::Tensor> values, std::span<const std::int64_t> symbols) const override {
      values[2] = values[1] * static_cast<double>(symbols[0]);
    }
  };
  const ir::Graph graph = ir::parse(R"(
    symbol s0: input_dim %0 dim 0 hint 4 min 2
    input %0: f32[s0] strides [1]
    %1: f32[s0] strides [1] = exp(%0)
    %2: f32[s0] strides [1] = mul.Scalar(%1, s0)
    %3: f32[s0] strides [1] = neg(%2)
    output %3
    input_gradient _
  )");
  ir::Partition partition;
  partition.forward = {0, 1, 2};
  ir::Program planned = runtime::replay_programs(graph, partition).forward;
  planned.steps[1].kind = ir::Step::Kind::kernel;
  planned.steps[1].index = 0;
  std::vector<std::unique_ptr<runtime::Kernel>> kernels;
  kernels.push_back(std::make_unique<Doubles>());
  const runtime::Program program(graph, std::move(planned), std::move(kernels), {});
  const at::Tensor x = at::randn({3});
  runtime::Frame frame{.values = {x, {}, {}, {}}, .symbols = {3}};
  QVERIFY(!program.run(frame));
  QVERIFY(at::equal(frame.values[3], -(x.exp() * 3)));
  QVERIFY(!frame.values[1].defined() && !frame.values[2].defined());
}

LATHE_TEST(TestReplayProgram);
#include "replay_program_test.moc"
