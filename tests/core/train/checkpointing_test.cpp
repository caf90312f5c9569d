#include "core/train/checkpointing.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/function.h>

#include "core/train/precision.h"
#include "core/train/random_state.h"
#include "tests/support/test_main.h"

using namespace lathe;
using models::Tensors;

class TestCheckpointing : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void givesTheSameNumbersAsWithout_data();
  void givesTheSameNumbersAsWithout();
  void runsABlockOnceWithoutGradientsAndTwiceWith();
  void leavesTheRandomStreamWhereItWas();
  void keepsNoActivationsUntilTheBackward();
};

namespace {

// y = dropout(gelu(x W1ᵀ)) W2ᵀ · s + x; W1 frozen.
class SmallBlock : public models::Block {
 public:
  explicit SmallBlock(std::int64_t seed) {
    at::manual_seed(static_cast<std::uint64_t>(seed));
    w1_ = at::randn({16, 8});
    w2_ = at::randn({8, 16}).requires_grad_(true);
  }
  Tensors forward(std::span<const at::Tensor> inputs) const override {
    ++runs;
    const at::Tensor hidden = at::dropout(at::gelu(at::linear(inputs[0], w1_)), 0.25, true);
    return {at::linear(hidden, w2_) * inputs[1] + inputs[0]};
  }
  Tensors parameters() const override { return {w1_, w2_}; }
  std::string structure() const override { return "small"; }

  mutable int runs = 0;

 private:
  at::Tensor w1_, w2_;
};

struct Outcome {
  at::Tensor output, input_gradient, scale_gradient;
  std::vector<at::Tensor> parameter_gradients;
};

Outcome run(const models::RunBlock& run_block, at::ScalarType autocast) {
  SmallBlock first(1), second(2);
  at::manual_seed(3);
  at::Tensor x = at::randn({4, 8}).requires_grad_(true);
  at::Tensor scale = at::full({1}, 0.5).requires_grad_(true);
  at::Tensor y;
  {
    const train::AutocastGuard guard(at::kCPU, autocast);
    const Tensors middle = run_block(first, 0, Tensors{x, scale});
    y = run_block(second, 1, Tensors{middle[0], scale})[0];
  }
  torch::autograd::backward({y.to(at::kFloat).square().sum()});
  return {y.detach(), x.grad(), scale.grad(), {first.parameters()[1].grad(), second.parameters()[1].grad()}};
}

}  // namespace

void TestCheckpointing::givesTheSameNumbersAsWithout_data() {
  QTest::addColumn<int>("autocast");
  QTest::newRow("fp32") << static_cast<int>(at::kFloat);
  QTest::newRow("bf16 autocast") << static_cast<int>(at::kBFloat16);
}

void TestCheckpointing::givesTheSameNumbersAsWithout() {
  QFETCH(int, autocast);
  const auto dtype = static_cast<at::ScalarType>(autocast);
  const Outcome plain = run(models::run_eagerly, dtype);
  const Outcome checkpointed = run(train::with_checkpointing(), dtype);
  QVERIFY(at::equal(checkpointed.output, plain.output));
  QVERIFY(at::equal(checkpointed.input_gradient, plain.input_gradient));
  QVERIFY(at::equal(checkpointed.scale_gradient, plain.scale_gradient));
  for (std::size_t i = 0; i < 2; ++i) {
    QVERIFY(plain.parameter_gradients[i].defined());
    QVERIFY(at::equal(checkpointed.parameter_gradients[i], plain.parameter_gradients[i]));
  }
}

void TestCheckpointing::runsABlockOnceWithoutGradientsAndTwiceWith() {
  SmallBlock block(1);
  const models::RunBlock run_block = train::with_checkpointing();
  const Tensors inputs = {at::ones({4, 8}), at::ones({1})};
  {
    const c10::NoGradGuard no_grad;
    run_block(block, 0, inputs);
  }
  QCOMPARE(block.runs, 1);
  const at::Tensor y = run_block(block, 0, inputs)[0];
  QCOMPARE(block.runs, 2);
  torch::autograd::backward({y.sum()});
  QCOMPARE(block.runs, 3);
  QVERIFY(block.parameters()[1].grad().defined());
  QVERIFY(!block.parameters()[0].grad().defined());
}

void TestCheckpointing::leavesTheRandomStreamWhereItWas() {
  SmallBlock block(1);
  at::manual_seed(5);
  const at::Tensor y = train::with_checkpointing()(block, 0, Tensors{at::ones({4, 8}), at::ones({1})})[0];
  const train::RandomState before = train::random_state(at::kCPU);
  torch::autograd::backward({y.sum()});
  QVERIFY(at::equal(train::random_state(at::kCPU).cpu, before.cpu));
}

void TestCheckpointing::keepsNoActivationsUntilTheBackward() {
  // The only tensors of the graph are the block's inputs and parameters: the output's node leads straight to the leaf.
  SmallBlock block(1);
  at::Tensor x = at::ones({4, 8}).requires_grad_(true);
  const at::Tensor y = train::with_checkpointing()(block, 0, Tensors{x, at::ones({1})})[0];
  const auto& edges = y.grad_fn()->next_edges();
  int leaves = 0;
  for (const auto& edge : edges) {
    if (edge.function) leaves += edge.function->name() == "torch::autograd::AccumulateGrad";
  }
  QCOMPARE(leaves, 2);  // x and W2
}

LATHE_TEST(TestCheckpointing);
#include "checkpointing_test.moc"
