#include <ATen/ATen.h>

#include "tests/core/compile/runtime/outcome.h"
#include "tests/core/compile/runtime/replayed_blocks.h"
#include "tests/support/blocks.h"
#include "tests/support/test_main.h"

using namespace lathe;
using lathe::testing::difference;
using lathe::testing::FunctionBlock;
using lathe::testing::Outcome;
using lathe::testing::outcome;
using lathe::testing::ReplayedBlocks;
using models::Tensors;
using Inputs = std::span<const at::Tensor>;

// Runs that take another path than the recording.
class TestMismatch : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void anotherBooleanRunsEagerlyAndSaysWhatItRead();
  void theRandomStateIsRewound();
  void nothingIsWrittenBeforeTheLastRead();
  void anotherSizeOfDataRunsEagerly();
};

namespace {

Outcome run(const FunctionBlock& block, const Tensors& inputs, ReplayedBlocks* blocks) {
  return outcome([&](Inputs in) { return blocks == nullptr ? block.forward(in) : blocks->run(block, in); }, inputs,
                 block.parameters());
}

}  // namespace

void TestMismatch::anotherBooleanRunsEagerlyAndSaysWhatItRead() {
  const FunctionBlock block("f", {at::randn({6, 6}).requires_grad_(true)}, [](Inputs in, const Tensors& p) {
    const at::Tensor y = at::mm(in[0], p[0]);
    return Tensors{in[1].sum().gt(0).item<bool>() ? at::tanh(y) : y * 2};
  });
  const at::Tensor x = at::randn({4, 6}).requires_grad_(true);
  ReplayedBlocks blocks;
  for (int i = 0; i < 6; ++i) {
    const Tensors inputs = {x, at::full({3}, i % 2 == 0 ? 1.0 : -1.0)};
    const std::string text = difference(run(block, inputs, &blocks), run(block, inputs, nullptr));
    QVERIFY2(text.empty(), text.c_str());
  }
  QCOMPARE(blocks.compiles, 1);
  QCOMPARE(blocks.mismatches.size(), std::size_t{3});
  QCOMPARE(QString::fromStdString(blocks.mismatches[0]), QString("'_local_scalar_dense' read 1 → 0"));
}

void TestMismatch::theRandomStateIsRewound() {
  const FunctionBlock block("f", {}, [](Inputs in, const Tensors&) {
    const at::Tensor y = at::dropout(in[0], 0.5, true);
    return Tensors{(in[1] > 0).item<bool>() ? y * 2 : y + at::rand({4, 6})};
  });
  const at::Tensor x = at::randn({4, 6}).requires_grad_(true);
  ReplayedBlocks blocks;
  run(block, {x, at::ones({})}, &blocks);
  const Tensors inputs = {x, -at::ones({})};
  const std::string text = difference(run(block, inputs, &blocks), run(block, inputs, nullptr));
  QVERIFY2(text.empty(), text.c_str());
  QCOMPARE(blocks.mismatches.size(), std::size_t{1});
}

void TestMismatch::nothingIsWrittenBeforeTheLastRead() {
  const at::Tensor count = at::zeros({});
  const FunctionBlock block("f", {count}, [](Inputs in, const Tensors& p) {
    at::Tensor own = p[0];
    own.add_(1);
    return Tensors{(in[0] > 0).item<bool>() ? own * 2 : own * 3};
  });
  ReplayedBlocks blocks;
  QCOMPARE(blocks.run(block, Tensors{at::ones({})})[0].item<float>(), 2.0F);
  QCOMPARE(blocks.run(block, Tensors{-at::ones({})})[0].item<float>(), 6.0F);
  QCOMPARE(count.item<float>(), 2.0F);
  QCOMPARE(blocks.mismatches.size(), std::size_t{1});
}

void TestMismatch::anotherSizeOfDataRunsEagerly() {
  const FunctionBlock block("f", {}, [](Inputs in, const Tensors&) { return Tensors{in[0].index({in[1]}).exp()}; });
  const at::Tensor x = at::randn({4, 6}).requires_grad_(true);
  ReplayedBlocks blocks;
  const at::Tensor two = at::tensor({1, 0, 1, 0}).to(at::kBool), other_two = at::tensor({0, 1, 1, 0}).to(at::kBool);
  const at::Tensor three = at::tensor({1, 1, 1, 0}).to(at::kBool);
  for (const at::Tensor& mask : {two, other_two, three}) {
    const Tensors inputs = {x, mask};
    const std::string text = difference(run(block, inputs, &blocks), run(block, inputs, nullptr));
    QVERIFY2(text.empty(), text.c_str());
  }
  QCOMPARE(blocks.compiles, 1);
  QCOMPARE(blocks.mismatches, (std::vector<std::string>{"'index.Tensor' gave 2 → 3 elements"}));
}

LATHE_TEST(TestMismatch);
#include "mismatch_test.moc"
