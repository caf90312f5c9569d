#include "core/compile/capture/joint.h"

#include <thread>

#include <ATen/ATen.h>
#include <ATen/ThreadLocalState.h>
#include <ATen/autocast_mode.h>
#include <torch/csrc/autograd/autograd.h>

#include "core/compile/aten/generators.h"
#include "core/compile/capture/differs.h"
#include "core/compile/capture/fallback.h"
#include "tests/core/compile/capture/record.h"
#include "tests/support/anima_blocks.h"
#include "tests/support/test_main.h"

using namespace lathe;
using lathe::testing::BlockCase;
using lathe::testing::FunctionBlock;
using lathe::testing::make_block;
using lathe::testing::operators;
using lathe::testing::record;
using models::Tensors;
using Names = std::vector<std::string>;
using Inputs = std::span<const at::Tensor>;

class TestJoint : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void recordsForwardAndBackwardAsTheyRan();
  void everyBlockGivesAValidGraph_data();
  void everyBlockGivesAValidGraph();
  void leavesEverythingAsItFoundIt_data();
  void leavesEverythingAsItFoundIt();
  void gradientsOfAParameterListedTwiceAreOne();
  void unusedOutputsGetNoTangent();
  void withoutGradientsThereIsNoBackward();
  void readsAndSizesOfDataAreBreaks();
  void numbersThatNoInputDecidesAreNoReads();
  void drawsAreNumberedAndARecomputedOneHasTheNumberOfTheFirst();
  void attentionWithoutDropoutDrawsNothing();
  void theAutocastCacheDoesNotLeakIn();
  void memoryFilledBehindAPointerIsAConstant();
  void foreignTensorsAreConstants();
  void viewsOfInputsAreMadeOutside();
  void overlappingOutputsAreViewsOfOne();
  void recordsTheSameOnAnotherThread();
  void threadsThatInheritTheStateAreRecorded();
  void undefinedInputsAreLeftOut();
  void anAnimaBlockIsOfTheExpectedSize();
};

namespace {

bool contains(const Names& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

at::Tensor trained(at::IntArrayRef shape) {
  return at::randn(shape).requires_grad_(true);
}

Tensors copies(const Tensors& tensors) {
  Tensors result;
  for (const at::Tensor& tensor : tensors) result.push_back(tensor.detach().clone());
  return result;
}

}  // namespace

void TestJoint::recordsForwardAndBackwardAsTheyRan() {
  const FunctionBlock block("f", {trained({6, 6})},
                            [](Inputs in, const Tensors& p) { return Tensors{at::tanh(at::mm(in[0], p[0]))}; });
  const auto recording = record(block, Tensors{trained({4, 6})});
  QVERIFY2(!recording.refused, recording.refused.value_or("").c_str());
  QCOMPARE(QString::fromStdString(ir::print(recording.block.graph)),
           QString("input %0: f32[4, 6] strides [6, 1]\n"
                   "parameter %1: f32[6, 6] strides [6, 1]\n"
                   "tangent %4: f32[4, 6] strides [6, 1]\n"
                   "%2: f32[4, 6] strides [6, 1] = mm(%0, %1)\n"
                   "%3: f32[4, 6] strides [6, 1] = tanh(%2)\n"
                   "%5: f32[4, 6] strides [6, 1] = backward tanh_backward(%4, %3)\n"
                   "%6: f32[6, 4] strides [1, 6] = backward t(%1)\n"));
  QVERIFY(recording.seconds > 0);
}

void TestJoint::everyBlockGivesAValidGraph_data() {
  QTest::addColumn<QString>("name");
  for (const std::string& name : testing::block_names()) QTest::newRow(name.c_str()) << QString::fromStdString(name);
}

void TestJoint::everyBlockGivesAValidGraph() {
  QFETCH(QString, name);
  const auto recording = record(make_block(name.toStdString()));
  QVERIFY2(!recording.refused, recording.refused.value_or("").c_str());
  const auto fault = ir::why_invalid(ir::parse(ir::print(recording.block.graph)));
  QVERIFY2(!fault, fault.value_or("").c_str());
  for (const ir::Node& node : recording.block.graph.nodes) QVERIFY2(!node.op.ends_with('_'), node.op.c_str());
}

void TestJoint::leavesEverythingAsItFoundIt_data() {
  everyBlockGivesAValidGraph_data();
}

void TestJoint::leavesEverythingAsItFoundIt() {
  QFETCH(QString, name);
  const BlockCase example = make_block(name.toStdString());
  const Tensors parameters = example.block->parameters();
  const Tensors inputs_before = copies(example.inputs), parameters_before = copies(parameters);
  std::vector<std::int64_t> versions;
  for (const at::Tensor& tensor : parameters) versions.push_back(tensor._version());
  const at::Tensor random = aten::random_state(at::kCPU);

  record(example);

  for (std::size_t i = 0; i < parameters.size(); ++i) {
    QVERIFY(at::equal(parameters[i], parameters_before[i]));
    QVERIFY(!parameters[i].grad().defined());
    QCOMPARE(parameters[i]._version(), versions[i]);
  }
  for (std::size_t i = 0; i < inputs_before.size(); ++i) {
    QVERIFY(at::equal(example.inputs[i], inputs_before[i]));
    QVERIFY(!example.inputs[i].grad().defined());
  }
  QVERIFY(at::equal(aten::random_state(at::kCPU), random));
  QVERIFY(!capture::recording());
}

void TestJoint::gradientsOfAParameterListedTwiceAreOne() {
  const auto block = record(make_block("tied weight")).block;
  QCOMPARE(block.parameters, (std::vector<std::int32_t>{0, 1}));
  QCOMPARE(block.graph.parameters.size(), std::size_t{2});
  QVERIFY(block.graph.parameter_gradients[0] >= 0);
  QCOMPARE(block.graph.parameter_gradients[1], -1);  // frozen
}

void TestJoint::unusedOutputsGetNoTangent() {
  const FunctionBlock block("f", {trained({4, 6})}, [](Inputs in, const Tensors& p) {
    return Tensors{in[0] * p[0], at::sqrt(in[0]), in[0].detach() + 1};
  });
  const Tensors inputs = {trained({4, 6})};
  const auto all = record(block, inputs).block, second = record(block, inputs, 0b010).block;
  QCOMPARE(all.tangent_outputs, (std::vector<std::int32_t>{0, 1}));
  QCOMPARE(all.output_needs_gradient, (std::vector<bool>{true, true, false}));
  QCOMPARE(second.tangent_outputs, (std::vector<std::int32_t>{1}));
  QCOMPARE(second.output_needs_gradient, all.output_needs_gradient);
  QCOMPARE(second.graph.parameter_gradients[0], -1);
  QCOMPARE(operators(second.graph, false), operators(all.graph, false));
}

void TestJoint::withoutGradientsThereIsNoBackward() {
  const BlockCase example = make_block("mlp");
  const at::NoGradGuard no_gradient;
  const auto block = record(example).block;
  QVERIFY(operators(block.graph, true).empty());
  QVERIFY(block.graph.tangents.empty());
  QCOMPARE(block.graph.outputs.size(), std::size_t{1});
}

void TestJoint::readsAndSizesOfDataAreBreaks() {
  const ir::Graph boolean = record(make_block("boolean read")).block.graph;
  QCOMPARE(boolean.breaks.size(), std::size_t{1});
  const ir::Node& read = boolean.nodes[static_cast<std::size_t>(boolean.breaks[0].node)];
  QCOMPARE(QString::fromStdString(read.op), QString("_local_scalar_dense"));
  QVERIFY(read.read && read.read->type == ir::ScalarRead::Type::boolean);

  const ir::Graph sizes = record(make_block("size of data")).block.graph;
  Names forward;
  for (const ir::Break& at : sizes.breaks) {
    if (!sizes.nodes[static_cast<std::size_t>(at.node)].backward) forward.push_back(at.op);
  }
  QCOMPARE(forward, (Names{"index.Tensor", "nonzero"}));
  QVERIFY(!sizes.symbols.empty());
  QVERIFY(sizes.symbols[0].from == ir::Symbol::From::data);
}

void TestJoint::numbersThatNoInputDecidesAreNoReads() {
  const FunctionBlock block("f", {}, [](Inputs in, const Tensors&) {
    return Tensors{at::scalar_tensor(2.0).item<float>() > 1 ? in[0] * 2 : in[0]};
  });
  const auto recording = record(block, Tensors{trained({3})});
  QVERIFY2(!recording.refused, recording.refused.value_or("").c_str());
  QVERIFY(recording.block.graph.breaks.empty());
}

void TestJoint::drawsAreNumberedAndARecomputedOneHasTheNumberOfTheFirst() {
  const ir::Graph graph = record(make_block("checkpoint inside")).block.graph;
  std::vector<int> forward, backward;
  for (const ir::Node& node : graph.nodes) {
    if (node.draw >= 0) (node.backward ? backward : forward).push_back(node.draw);
  }
  QCOMPARE(forward, (std::vector<int>{0, 1, 2, 3}));
  QCOMPARE(backward, (std::vector<int>{2, 1}));  // the two checkpointed layers, the last first
  QCOMPARE(graph.draw_count, 4);
}

void TestJoint::attentionWithoutDropoutDrawsNothing() {
  QCOMPARE(record(make_block("attention with a mask")).block.graph.draw_count, 0);
}

void TestJoint::theAutocastCacheDoesNotLeakIn() {
  const BlockCase example = make_block("mlp");
  const auto recorded = [&] {
    const auto recording = record(example);
    return std::pair(recording.block.graph.nodes.size(), recording.block.constants.size());
  };
  at::autocast::set_autocast_enabled(at::kCPU, true);
  const auto fresh = recorded();
  at::autocast::increment_nesting();
  (void)example.block->forward(example.inputs);  // leaves cast weights in the cache
  const auto after_a_run = recorded();
  at::autocast::decrement_nesting();
  at::autocast::set_autocast_enabled(at::kCPU, false);
  QCOMPARE(after_a_run, fresh);
  QCOMPARE(fresh.second, std::size_t{0});
}

void TestJoint::memoryFilledBehindAPointerIsAConstant() {
  const FunctionBlock block("f", {}, [](Inputs in, const Tensors&) {
    return Tensors{in[0].index_select(0, at::tensor(std::vector<std::int64_t>{2, 0}))};
  });
  const auto recording = record(block, Tensors{trained({3, 2})});
  QCOMPARE(recording.block.constants.size(), std::size_t{1});
  QVERIFY(at::equal(recording.block.constants[0], at::tensor(std::vector<std::int64_t>{2, 0})));
  QVERIFY(!contains(operators(recording.block.graph, false), "empty.memory_format"));
}

void TestJoint::foreignTensorsAreConstants() {
  const auto recording = record(make_block("foreign tensor"));
  QCOMPARE(recording.block.constants.size(), std::size_t{1});
  QVERIFY(at::equal(recording.block.constants[0], at::linspace(0, 1, 6)));
}

void TestJoint::viewsOfInputsAreMadeOutside() {
  const ir::Graph graph = record(make_block("views escape")).block.graph;
  QCOMPARE(graph.output_views.size(), std::size_t{3});
  const auto& of_input = graph.output_views[0];
  QVERIFY(of_input.of == ir::OutputView::Of::input && of_input.output == 2 && of_input.source == 0);
  const auto& of_parameter = graph.output_views[1];
  QVERIFY(of_parameter.of == ir::OutputView::Of::parameter && of_parameter.output == 3 && of_parameter.source == 0);
  const auto& of_output = graph.output_views[2];  // the column lies in the transposed whole
  QVERIFY(of_output.of == ir::OutputView::Of::output && of_output.output == 1 && of_output.source == 0);
  QCOMPARE(graph.tangents.size(), std::size_t{1});
}

void TestJoint::overlappingOutputsAreViewsOfOne() {
  QVERIFY(record(make_block("parts of a split escape")).block.graph.output_views.empty());
  const ir::Graph twice = record(make_block("an output twice")).block.graph;
  QCOMPARE(twice.tangents.size(), std::size_t{1});
}

void TestJoint::recordsTheSameOnAnotherThread() {
  const BlockCase example = make_block("in place on views");
  const ir::Graph here = record(example).block.graph;
  ir::Graph there;
  std::thread([&] { there = record(example).block.graph; }).join();
  const auto difference = capture::differs(here, {}, there);
  QVERIFY2(!difference, difference.value_or("").c_str());
}

void TestJoint::threadsThatInheritTheStateAreRecorded() {
  const FunctionBlock block("f", {}, [](Inputs in, const Tensors&) {
    at::Tensor y;
    const at::ThreadLocalState state;
    std::thread([&] {
      const at::ThreadLocalStateGuard inherited(state);
      y = at::tanh(in[0]);
    }).join();
    return Tensors{y * 2};
  });
  const auto recording = record(block, Tensors{trained({3})});
  QCOMPARE(operators(recording.block.graph, false), (Names{"tanh", "mul.Scalar"}));
}

void TestJoint::undefinedInputsAreLeftOut() {
  const FunctionBlock block("f", {at::Tensor(), trained({3})}, [](Inputs in, const Tensors& p) {
    return Tensors{in[0].defined() ? in[0] : in[1] * p[1], at::Tensor()};
  });
  const auto recorded = record(block, Tensors{at::Tensor(), trained({3})}).block;
  QCOMPARE(recorded.inputs, (std::vector<std::int32_t>{1}));
  QCOMPARE(recorded.parameters, (std::vector<std::int32_t>{1}));
  QCOMPARE(recorded.graph.outputs.size(), std::size_t{2});
  QCOMPARE(recorded.graph.outputs[1], -1);
}

void TestJoint::anAnimaBlockIsOfTheExpectedSize() {
  const auto blocks = testing::dit_blocks(1, at::kFloat);
  const auto recording = record(*blocks[0], testing::dit_inputs({}, at::kFloat));
  QVERIFY2(!recording.refused, recording.refused.value_or("").c_str());
  const ir::Graph& graph = recording.block.graph;
  QVERIFY(recording.block.constants.empty());
  QVERIFY(graph.breaks.empty());
  QCOMPARE(graph.draw_count, 0);
  QVERIFY2(graph.nodes.size() > 400 && graph.nodes.size() < 800, qPrintable(QString::number(graph.nodes.size())));
  // Each trained tensor gets a gradient.
  std::size_t gradients = 0, trained_tensors = 0;
  for (const ir::ValueId id : graph.parameter_gradients) gradients += id >= 0 ? 1 : 0;
  for (const at::Tensor& tensor : blocks[0]->parameters()) trained_tensors += tensor.requires_grad() ? 1 : 0;
  QCOMPARE(gradients, trained_tensors);
  QVERIFY(trained_tensors >= 20);
}

LATHE_TEST(TestJoint);
#include "joint_test.moc"
