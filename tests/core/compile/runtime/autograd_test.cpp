#include <atomic>
#include <thread>

#include <ATen/ATen.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/utils/lambda_post_hook.h>
#include <torch/csrc/autograd/variable.h>

#include "core/compile/runtime/block_node.h"
#include "tests/core/compile/runtime/outcome.h"
#include "tests/core/compile/runtime/replayed_blocks.h"
#include "tests/support/anima_blocks.h"
#include "tests/support/blocks.h"
#include "tests/support/test_main.h"

using namespace lathe;
using lathe::testing::BlockCase;
using lathe::testing::difference;
using lathe::testing::FunctionBlock;
using lathe::testing::make_block;
using lathe::testing::outcome;
using lathe::testing::ReplayedBlocks;
using models::Block;
using models::Tensors;
using Inputs = std::span<const at::Tensor>;

// A compiled block within autograd's graph.
class TestAutograd : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void aStackOfSixBlocksIsOneCompileOfEachKind_data();
  void aStackOfSixBlocksIsOneCompileOfEachKind();
  void worksInsideACheckpoint();
  void theSameBlockTwiceInOneGraph();
  void backwardTwiceWithTheGraphRetained();
  void backwardTwiceWithoutIsRefused();
  void secondDerivativesAreRefused();
  void anExpandedIncomingGradient();
  void anOutputWithoutGradientIsNotAZeroGradient();
  void aWeightChangedInBetweenIsRefused();
  void aSavedOutputChangedInBetweenIsRefused();
  void writesToOutputsReachWhatSharesTheirMemory();
  void freezingAWeightCompilesAnew();
  void hooksAreCalledOnceForEachStep();
  void aGradientNeverSharesMemoryWithWhatIsKept();
  void whatIsNotNeededIsFreed();
  void servesSeveralThreads();
  void withoutGradientsNothingIsKept();
};

namespace {

at::Tensor trained(at::IntArrayRef shape) {
  return at::randn(shape).requires_grad_(true);
}

QString error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const std::exception& error) {
    return QString::fromUtf8(error.what());
  }
  return {};
}

// Runs a function again in the backward instead of keeping what it saves.
struct Checkpoint : torch::autograd::Function<Checkpoint> {
  using Run = std::function<at::Tensor(const at::Tensor&)>;
  static inline std::vector<Run> runs;

  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& x, std::int64_t which) {
    context->save_for_backward({x});
    context->saved_data["which"] = which;
    const at::NoGradGuard no_gradient;
    return runs.at(static_cast<std::size_t>(which))(x);
  }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list gradients) {
    const at::Tensor x = context->get_saved_variables()[0].detach().requires_grad_(true);
    at::Tensor y;
    {
      const at::AutoGradMode on(true);
      y = runs.at(static_cast<std::size_t>(context->saved_data["which"].toInt()))(x);
    }
    torch::autograd::backward({y}, {gradients[0]});
    return {x.grad(), at::Tensor()};
  }
};

struct Stack {
  std::vector<std::unique_ptr<Block>> blocks;
  Tensors inputs, parameters;

  Stack(int count, at::ScalarType dtype, bool first)
      : blocks(testing::dit_blocks(count, dtype)), inputs(testing::dit_inputs({}, dtype, first)) {
    for (const auto& block : blocks) {
      for (const at::Tensor& tensor : block->parameters()) parameters.push_back(tensor);
    }
  }
  Tensors forward(Inputs in, const models::RunBlock& run) const {
    Tensors now(in.begin(), in.end());
    for (std::size_t i = 0; i < blocks.size(); ++i) now[0] = run(*blocks[i], static_cast<int>(i), now)[0];
    return {now[0]};
  }
};

const FunctionBlock& layer() {
  static const FunctionBlock block("layer", {trained({6, 6})},
                                   [](Inputs in, const Tensors& p) { return Tensors{at::tanh(at::mm(in[0], p[0]))}; });
  return block;
}

}  // namespace

void TestAutograd::aStackOfSixBlocksIsOneCompileOfEachKind_data() {
  QTest::addColumn<bool>("bf16");
  QTest::addColumn<int>("rung");
  for (const auto rung : {passes::Recompute::nothing, passes::Recompute::cheap, passes::Recompute::all}) {
    QTest::addRow("fp32, rung %d", static_cast<int>(rung)) << false << static_cast<int>(rung);
    QTest::addRow("bf16 autocast, rung %d", static_cast<int>(rung)) << true << static_cast<int>(rung);
  }
}

void TestAutograd::aStackOfSixBlocksIsOneCompileOfEachKind() {
  QFETCH(bool, bf16);
  QFETCH(int, rung);
  const at::ScalarType dtype = bf16 ? at::kBFloat16 : at::kFloat;
  const Stack stack(6, dtype, /*first=*/true);
  const auto run = [&](const models::RunBlock& blocks) {
    return outcome([&](Inputs in) { return stack.forward(in, blocks); }, stack.inputs, stack.parameters, bf16);
  };
  const auto expected = run(models::run_eagerly);
  ReplayedBlocks blocks({.rung = static_cast<passes::Recompute>(rung)});
  for (int step = 0; step < 2; ++step) {
    const std::string text = difference(run(blocks.run_block()), expected);
    QVERIFY2(text.empty(), text.c_str());
  }
  QCOMPARE(blocks.compiles, 2);  // the first block's input needs no gradient
  QCOMPARE(blocks.hits, 10);
}

void TestAutograd::worksInsideACheckpoint() {
  const Stack stack(3, at::kFloat, /*first=*/false);
  const auto run = [&](const models::RunBlock& blocks) {
    return outcome(
        [&](Inputs in) {
          Checkpoint::runs.clear();
          at::Tensor x = in[0];
          for (std::size_t i = 0; i < stack.blocks.size(); ++i) {
            Checkpoint::runs.push_back([&, i, rest = Tensors(in.begin(), in.end())](const at::Tensor& own) {
              Tensors inputs = rest;
              inputs[0] = own;
              return blocks(*stack.blocks[i], static_cast<int>(i), inputs)[0];
            });
            x = Checkpoint::apply(x, static_cast<std::int64_t>(i));
          }
          return Tensors{x};
        },
        stack.inputs, stack.parameters);
  };
  ReplayedBlocks blocks;
  const std::string text = difference(run(blocks.run_block()), run(models::run_eagerly));
  QVERIFY2(text.empty(), text.c_str());
  QCOMPARE(blocks.compiles, 2);  // without gradients, and with them
}

void TestAutograd::theSameBlockTwiceInOneGraph() {
  const Tensors inputs = {trained({4, 6})};
  const auto run = [&](const models::RunBlock& blocks) {
    return outcome([&](Inputs in) { return blocks(layer(), 1, blocks(layer(), 0, in)); }, inputs, layer().parameters());
  };
  ReplayedBlocks blocks;
  const std::string text = difference(run(blocks.run_block()), run(models::run_eagerly));
  QVERIFY2(text.empty(), text.c_str());
  QCOMPARE(blocks.compiles, 1);
}

void TestAutograd::backwardTwiceWithTheGraphRetained() {
  ReplayedBlocks blocks;
  const at::Tensor x = trained({4, 6}), w = layer().parameters()[0];
  const at::Tensor y = blocks.run(layer(), Tensors{x})[0], g = at::randn({4, 6});
  const auto once = torch::autograd::grad({y}, {x, w}, {g}, /*retain_graph=*/true);
  const auto again = torch::autograd::grad({y}, {x, w}, {g}, /*retain_graph=*/true);
  const auto expected = torch::autograd::grad({layer().forward(Tensors{x})[0]}, {x, w}, {g});
  for (std::size_t i = 0; i < 2; ++i) {
    QVERIFY(at::equal(once[i], expected[i]));
    QVERIFY(at::equal(again[i], expected[i]));
  }
}

void TestAutograd::backwardTwiceWithoutIsRefused() {
  ReplayedBlocks blocks;
  const at::Tensor x = trained({4, 6});
  const at::Tensor loss = blocks.run(layer(), Tensors{x})[0].sum();
  torch::autograd::grad({loss}, {x}, {}, /*retain_graph=*/true);
  torch::autograd::grad({loss}, {x});
  const QString error = error_of([&] { torch::autograd::grad({loss}, {x}); });
  QVERIFY2(error.contains("a second time"), qPrintable(error));
}

void TestAutograd::secondDerivativesAreRefused() {
  ReplayedBlocks blocks;
  const at::Tensor x = trained({4, 6});
  const at::Tensor y = blocks.run(layer(), Tensors{x})[0].sum();
  const QString error = error_of([&] { torch::autograd::grad({y}, {x}, {}, true, /*create_graph=*/true); });
  QVERIFY2(error.contains("no second derivative"), qPrintable(error));
}

void TestAutograd::anExpandedIncomingGradient() {
  ReplayedBlocks blocks;
  const at::Tensor x = trained({4, 6}), w = layer().parameters()[0];
  const auto seen = torch::autograd::grad({blocks.run(layer(), Tensors{x})[0].sum()}, {x, w});
  const auto expected = torch::autograd::grad({layer().forward(Tensors{x})[0].sum()}, {x, w});
  QVERIFY(at::equal(seen[0], expected[0]) && at::equal(seen[1], expected[1]));
}

// The gradient of sqrt at 0 is infinite, and 0 · inf no number.
void TestAutograd::anOutputWithoutGradientIsNotAZeroGradient() {
  const at::Tensor w = at::tensor({1.0F, 2.0F, 3.0F}).requires_grad_(true);
  const FunctionBlock block("two", {w}, [](Inputs in, const Tensors& p) {
    const at::Tensor h = in[0] * p[0];
    return Tensors{at::tanh(h) * 2, at::sqrt(h), h.exp()};
  });
  const at::Tensor x = at::tensor({0.0F, 1.0F, 2.0F}).requires_grad_(true);
  for (const auto rung : {passes::Recompute::nothing, passes::Recompute::all}) {
    ReplayedBlocks blocks({.rung = rung});
    for (int step = 0; step < 2; ++step) {
      for (const std::vector<std::size_t>& used : {std::vector<std::size_t>{0}, {0, 2}, {2}, {0, 1, 2}}) {
        const auto gradients = [&](const Tensors& outputs) {
          at::Tensor loss = at::zeros({});
          for (const std::size_t i : used) loss = loss + outputs[i].sum();
          return torch::autograd::grad({loss}, {x, w});
        };
        const auto expected = gradients(block.forward(Tensors{x})), seen = gradients(blocks.run(block, Tensors{x}));
        for (std::size_t i = 0; i < 2; ++i) QVERIFY(at::allclose(seen[i], expected[i], 0.0, 0.0, /*equal_nan=*/true));
      }
    }
    QCOMPARE(blocks.compiles, 1);
    QCOMPARE(blocks.variants, 3);  // each built once
  }
}

void TestAutograd::aWeightChangedInBetweenIsRefused() {
  ReplayedBlocks blocks;
  const at::Tensor x = trained({4, 6});
  const at::Tensor loss = blocks.run(layer(), Tensors{x})[0].sum();
  {
    const at::NoGradGuard no_gradient;
    at::Tensor w = layer().parameters()[0];
    w.add_(0.0);
  }
  const QString error = error_of([&] { torch::autograd::grad({loss}, {x}); });
  QVERIFY2(error.contains("modified by an inplace operation"), qPrintable(error));
}

void TestAutograd::aSavedOutputChangedInBetweenIsRefused() {
  // tanh keeps its own result; a view of it is what leaves the block.
  const FunctionBlock block("view of a saved output", {trained({6, 6})},
                            [](Inputs in, const Tensors& p) { return Tensors{at::tanh(at::mm(in[0], p[0])).t()}; });
  for (const Block* each : std::initializer_list<const Block*>{&layer(), &block}) {
    ReplayedBlocks blocks;
    const at::Tensor x = trained({4, 6});
    at::Tensor y = blocks.run(*each, Tensors{x})[0];
    y.mul_(2);
    const QString error = error_of([&] { torch::autograd::grad({y.sum()}, {x}); });
    QVERIFY2(error.contains("changed in place after the block ran"), qPrintable(error));
  }
}

void TestAutograd::writesToOutputsReachWhatSharesTheirMemory() {
  const auto make = [] { return make_block("views escape"); };
  const auto run = [](const BlockCase& example, const models::RunBlock& blocks) {
    Tensors inputs = example.inputs;
    const at::Tensor leaf = inputs[0];
    return outcome(
        [&](Inputs) {
          Tensors own = inputs;
          own[0] = leaf * 1;  // no leaf, so that it may be written
          Tensors outputs = blocks(*example.block, 0, own);
          outputs[2].mul_(3);               // a view of an input
          outputs[0].select(0, 1).add_(1);  // overlaps output 1
          outputs.push_back(own[0] * 1);
          return outputs;
        },
        inputs, example.block->parameters());
  };
  ReplayedBlocks blocks;
  const std::string text = difference(run(make(), blocks.run_block()), run(make(), models::run_eagerly));
  QVERIFY2(text.empty(), text.c_str());
}

void TestAutograd::freezingAWeightCompilesAnew() {
  const BlockCase example = make_block("mlp");
  at::Tensor weight = example.block->parameters()[2];
  ReplayedBlocks blocks;
  const auto gradient_arrives = [&] {
    weight.mutable_grad() = at::Tensor();
    torch::autograd::backward({blocks.run(*example.block, example.inputs)[0].sum()});
    return weight.grad().defined();
  };
  QVERIFY(gradient_arrives());
  weight.requires_grad_(false);
  QVERIFY(!gradient_arrives());
  QCOMPARE(blocks.compiles, 2);
  QCOMPARE(blocks.causes, (std::vector<std::string>{"parameter 2: needs a gradient: yes → no"}));
  weight.requires_grad_(true);
  QVERIFY(gradient_arrives());
  QCOMPARE(blocks.compiles, 2);  // the first one serves again
}

void TestAutograd::hooksAreCalledOnceForEachStep() {
  const at::Tensor w = trained({6, 6}), x = trained({4, 6});
  const FunctionBlock block("f", {w}, [](Inputs in, const Tensors& p) { return Tensors{at::mm(in[0], p[0])}; });
  int accumulated = 0, on_weight = 0, on_input = 0;
  const auto accumulator = torch::autograd::impl::grad_accumulator(w);
  accumulator->add_post_hook(std::make_unique<torch::autograd::utils::LambdaPostHook>(
      [&](const torch::autograd::variable_list& out, const torch::autograd::variable_list&) {
        ++accumulated;
        return out;
      }));
  ReplayedBlocks blocks;
  blocks.run(block, Tensors{x});
  QCOMPARE(accumulated, 0);  // a recording runs the backward, but accumulates nothing
  w.register_hook([&](const at::Tensor& gradient) {
    ++on_weight;
    return gradient * 2;
  });
  x.register_hook([&](const at::Tensor& gradient) {
    ++on_input;
    return gradient;
  });
  torch::autograd::backward({blocks.run(block, Tensors{x})[0].sum()});
  QCOMPARE(blocks.compiles, 1);
  QCOMPARE(accumulated, 1);
  QCOMPARE(on_weight, 1);
  QCOMPARE(on_input, 1);
  QVERIFY(at::equal(w.grad(), at::mm(x.detach().t(), at::ones({4, 6})) * 2));
}

// Accumulation steals a gradient and later adds to it in place.
void TestAutograd::aGradientNeverSharesMemoryWithWhatIsKept() {
  const at::Tensor w = trained({4, 6});
  const FunctionBlock block("f", {w}, [](Inputs in, const Tensors& p) { return Tensors{(in[0] * p[0]).sum(0)}; });
  const at::Tensor x = at::randn({4, 6}), x_before = x.clone();
  ReplayedBlocks blocks;
  const at::Tensor y = blocks.run(block, Tensors{x})[0];
  for (int i = 0; i < 3; ++i) torch::autograd::backward({y}, {at::ones({6})}, /*retain_graph=*/true);
  QVERIFY(at::equal(x, x_before));
  QVERIFY(at::equal(w.grad(), x * 3));
}

void TestAutograd::whatIsNotNeededIsFreed() {
  // The output is saved too: a careless node would hold the tensor that points to it.
  ReplayedBlocks blocks;
  const at::Tensor x = trained({4, 6});
  at::Tensor y = blocks.run(layer(), Tensors{x})[0];
  const c10::weak_intrusive_ptr<c10::StorageImpl> memory = y.storage().getWeakStorageImpl();
  QVERIFY(!memory.expired());
  y.reset();
  QVERIFY(memory.expired());

  at::Tensor z = blocks.run(layer(), Tensors{x})[0];
  const c10::weak_intrusive_ptr<c10::StorageImpl> kept = z.storage().getWeakStorageImpl();
  at::Tensor loss = z.sum();
  z.reset();
  QVERIFY(!kept.expired());
  torch::autograd::grad({loss}, {x});
  QVERIFY(kept.expired());
}

void TestAutograd::servesSeveralThreads() {
  ReplayedBlocks blocks;
  const at::Tensor x = trained({4, 6}), w = layer().parameters()[0];
  const auto gradients = [&] { return torch::autograd::grad({blocks.run(layer(), Tensors{x})[0].sum()}, {x, w}); };
  const auto expected = gradients();
  const auto artifact = blocks.last();
  const Tensors parameters = layer().parameters();
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i) {
        const Tensors inputs = {x};
        const auto result = runtime::run_block(artifact, inputs, parameters);
        const auto seen = torch::autograd::grad({std::get<Tensors>(result)[0].sum()}, {x, w});
        if (!at::equal(seen[0], expected[0]) || !at::equal(seen[1], expected[1])) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  QCOMPARE(wrong.load(), 0);
}

void TestAutograd::withoutGradientsNothingIsKept() {
  ReplayedBlocks blocks;
  const at::NoGradGuard no_gradient;
  const at::Tensor y = blocks.run(layer(), Tensors{trained({4, 6})})[0];
  QVERIFY(!y.requires_grad());
  QVERIFY(!y.grad_fn());
}

LATHE_TEST(TestAutograd);
#include "autograd_test.moc"
