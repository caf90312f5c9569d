#include "core/compile/passes/pipeline.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/compile/ir/text.h"
#include "tests/core/compile/passes/graph_check.h"
#include "tests/support/test_main.h"

using namespace lathe;
using namespace lathe::testing;

class TestPipeline : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void keepsValuesAfterEachPass_data();
  void keepsValuesAfterEachPass();
  void namesThePassThatBreaksAGraph();
  void writesDownWhatItDoes();
  void replaysWithoutKernels();
  void keepsTheForwardOfAnotherRecording();
};

void TestPipeline::keepsValuesAfterEachPass_data() {
  QTest::addColumn<QString>("name");
  QTest::addColumn<double>("tolerance");
  QTest::newRow("anima f32") << "anima_block_f32" << 1e-5;
  QTest::newRow("anima bf16") << "anima_block_bf16" << 0.05;  // roundings to the other side, some twenty in a row
  QTest::newRow("adapter f32") << "adapter_block_f32" << 1e-5;
}

void TestPipeline::keepsValuesAfterEachPass() {
  QFETCH(QString, name);
  QFETCH(double, tolerance);
  const ir::Graph before = load_graph(name.toStdString());
  ir::Graph graph = before;
  for (const passes::GraphPass& pass : passes::graph_passes()) {
    const std::size_t nodes = graph.nodes.size();
    if (!pass.run(graph)) continue;
    LATHE_VALID(graph);
    const double worst = change(before, graph, other_sizes(graph));
    QVERIFY2(worst <= tolerance,
             qPrintable(QString("%1: %2, %3 → %4 nodes")
                            .arg(QString::fromUtf8(pass.name.data(), static_cast<int>(pass.name.size())))
                            .arg(worst)
                            .arg(nodes)
                            .arg(graph.nodes.size())));
  }
  for (const passes::GraphPass& pass : passes::graph_passes()) {
    if (pass.name != "decompose") QVERIFY2(!pass.run(graph), pass.name.data());  // nothing is left to do
  }
}

void TestPipeline::namesThePassThatBreaksAGraph() {
  ir::Graph graph = ir::parse("input %0: f32[2] strides [1]\n%1: f32[2] strides [1] = neg(%0)\noutput %1\n");
  graph.values[1].strides.clear();
  try {
    passes::run_pipeline(graph);
    QFAIL("no error");
  } catch (const Error& error) {
    QCOMPARE(error.kind(), ErrorKind::internal);
    QVERIFY2(QString(error.what()).contains("after the pass 'dead code'"), error.what());
  }
}

void TestPipeline::writesDownWhatItDoes() {
  QStringList stages;
  QString last;
  passes::PipelineOptions options;
  options.dump = [&](std::string_view stage, const std::string& text) {
    stages << QString::fromUtf8(stage.data(), static_cast<int>(stage.size()));
    last = QString::fromStdString(text);
  };
  passes::run_pipeline(ir::parse(R"(input %0: f32[2, 3] strides [3, 1]
parameter %1: f32[3, 4] strides [4, 1]
tangent %2: f32[2, 4] strides [4, 1]
%3: f32[2, 3] strides [3, 1] = aten::detach(%0)
%4: f32[2, 4] strides [4, 1] = mm(%3, %1)
%5: f32[2, 4] strides [4, 1] = tanh(%4)
%6: f32[2, 4] strides [4, 1] = backward tanh_backward(%2, %5)
%7: f32[3, 2] strides [1, 3] = backward t(%0)
%8: f32[3, 4] strides [4, 1] = backward mm(%7, %6)
output %5
input_gradient _
parameter_gradient %8
)"),
                       options);
  QVERIFY(stages.contains("fold") && stages.endsWith("backward"));
  QString expected = R"(inputs %5 %2 %0
kernel k_tanh_backward_* [8]: %5 %2 → %6; frees %2 %5
view t(%0) → %7
library mm(%7, %6) → %8; frees %0 %6 %7
outputs %8
)";
  QVERIFY2(QRegularExpression(
               QRegularExpression::anchoredPattern(QRegularExpression::escape(expected).replace("_\\*", "_[0-9a-f]+")))
               .match(last)
               .hasMatch(),
           qPrintable(last));
}

void TestPipeline::replaysWithoutKernels() {
  passes::PipelineOptions options;
  options.fuse = false;
  const passes::CompiledGraph compiled = passes::run_pipeline(load_graph("anima_block_f32"), options);
  QVERIFY(compiled.forward.kernels.empty() && compiled.forward.not_fused.empty());
  std::vector<std::int32_t> run;
  for (const ir::Step& step : compiled.forward.steps) run.push_back(step.index);
  std::sort(run.begin(), run.end());
  // Views that nobody reads after all have no step.
  QVERIFY(std::includes(compiled.cut.forward.begin(), compiled.cut.forward.end(), run.begin(), run.end()));
}

// The same forward with two outputs, of which the second recording's caller uses one: its backward starts from what the
// first one saved, whatever its own names for that are.
void TestPipeline::keepsTheForwardOfAnotherRecording() {
  const std::string forward = R"(input %0: f32[3, 8] strides [8, 1]
parameter %1: f32[8, 8] strides [8, 1]
parameter %13: f32[8, 8] strides [8, 1]
)";
  const std::string body = R"(%4: f32[3, 8] strides [8, 1], _, _ = native_layer_norm(%0, [8], none, none, 1e-06)
%5: f32[3, 8] strides [8, 1] = mm(%4, %1)
%6: f32[3, 8] strides [8, 1] = tanh(%5)
%14: f32[3, 8] strides [8, 1] = mm(%0, %13)
%7: f32[3, 8] strides [8, 1] = exp(%14)
)";
  const std::string both = forward + "tangent %2: f32[3, 8] strides [8, 1]\ntangent %3: f32[3, 8] strides [8, 1]\n" +
                           body + R"(%8: f32[3, 8] strides [8, 1] = backward tanh_backward(%2, %6)
%9: f32[3, 8] strides [8, 1] = backward mul.Tensor(%3, %7)
%10: f32[3, 8] strides [8, 1] = backward add.Tensor(%8, %9, 1)
%11: f32[8, 3] strides [1, 8] = backward t(%4)
%12: f32[8, 8] strides [8, 1] = backward mm(%11, %10)
output %6
output %7
input_gradient _
parameter_gradient %12
parameter_gradient _
)";
  const std::string one = forward + "tangent %2: f32[3, 8] strides [8, 1]\n" + body +
                          R"(%8: f32[3, 8] strides [8, 1] = backward tanh_backward(%2, %6)
%11: f32[8, 3] strides [1, 8] = backward t(%4)
%12: f32[8, 8] strides [8, 1] = backward mm(%11, %8)
output %6
output %7
input_gradient _
parameter_gradient %12
parameter_gradient _
)";
  const passes::CompiledGraph first = passes::run_pipeline(ir::parse(both));
  passes::PipelineOptions options;
  options.same_forward = &first;
  const passes::CompiledGraph second = passes::run_pipeline(ir::parse(one), options);
  QCOMPARE(second.saved_as.size(), first.cut.saved.size());
  QVERIFY(second.cut.saved.size() < first.cut.saved.size());  // what exp's gradient would need is not read

  Interpreter whole(second.graph, {}), forward_values(first.graph, {}), backward(second.graph, {});
  for (Interpreter* interpreter : {&whole, &forward_values, &backward}) interpreter->fill_leaves();
  whole.run_all();
  for (const std::int32_t node : first.cut.forward)
    forward_values.run(first.graph.nodes[static_cast<std::size_t>(node)]);
  for (std::size_t i = 0; i < first.cut.saved.size(); ++i) {
    if (second.saved_as[i] >= 0) backward.set(second.saved_as[i], forward_values.get(first.cut.saved[i]));
  }
  for (const std::int32_t node : second.cut.backward) backward.run(second.graph.nodes[static_cast<std::size_t>(node)]);
  const ir::ValueId gradient = second.graph.parameter_gradients[0];
  QCOMPARE(difference(backward.get(gradient), whole.get(gradient)), 0.0);
}

LATHE_TEST(TestPipeline);
#include "pipeline_test.moc"
