#include <ATen/ATen.h>
#include <ATen/autocast_mode.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/autograd.h>

#include "core/models/adapters/lora.h"
#include "core/models/anima/dit_block.h"
#include "tests/core/models/anima/random_dit.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/tensor_check.h"
#include "tests/support/test_main.h"

using namespace lathe::models;
using namespace lathe::models::anima;
using namespace lathe::testing;

class TestDitPrecision : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void initTestCase();
  void bfloat16IsNearFloat_data();
  void bfloat16IsNearFloat();
  void halfKeepsTheResidualStreamInFloat();
  void autocastIsLeftAsFound();

 private:
  std::unique_ptr<Dit> load(const DitOptions& options = {}) const { return Dit::load(path_, options); }

  TemporaryFolder folder_;
  std::filesystem::path path_;
};

namespace {

class CpuAutocast {
 public:
  explicit CpuAutocast(at::ScalarType dtype) {
    at::autocast::set_autocast_dtype(at::kCPU, dtype);
    at::autocast::set_autocast_enabled(at::kCPU, true);
  }
  ~CpuAutocast() {
    at::autocast::set_autocast_enabled(at::kCPU, false);
    at::autocast::set_autocast_dtype(at::kCPU, at::kBFloat16);
    at::autocast::clear_cache();
  }
};

DitInputs in(at::ScalarType dtype, DitInputs inputs) {
  inputs.x = inputs.x.to(dtype);
  inputs.timesteps = inputs.timesteps.to(dtype);
  inputs.text = inputs.text.to(dtype);
  return inputs;
}

}  // namespace

void TestDitPrecision::initTestCase() {
  path_ = folder_.path() / "dit.safetensors";
  write_random_dit(path_, small_sizes(), 5);
}

void TestDitPrecision::bfloat16IsNearFloat_data() {
  QTest::addColumn<bool>("autocast");
  QTest::newRow("weights in fp32, autocast") << true;
  QTest::newRow("weights in bf16, autocast") << false;
}

void TestDitPrecision::bfloat16IsNearFloat() {
  QFETCH(bool, autocast);
  const auto wide = load(), narrow = load({.dtype = autocast ? at::kFloat : at::kBFloat16});
  LoraNetwork lora(narrow->linears(), "lora_unet", {});
  const DitInputs inputs = in(at::kBFloat16, some_inputs());
  const at::Tensor expected = wide->forward(in(at::kFloat, inputs));
  at::Tensor out;
  {
    const CpuAutocast on(at::kBFloat16);
    out = narrow->forward(inputs);
  }
  QCOMPARE(out.scalar_type(), at::kBFloat16);
  // bf16 keeps 8 bits; three blocks add up to a few per cent.
  LATHE_CLOSE(out, expected, 0.05);
  QVERIFY(relative_difference(out, expected) > 1e-4);  // it did run in bf16

  for (const at::Tensor& gradient : torch::autograd::grad({out.to(at::kFloat).square().sum()}, lora.parameters())) {
    QCOMPARE(gradient.scalar_type(), at::kFloat);
    QVERIFY(gradient.isfinite().all().item<bool>());
  }
}

void TestDitPrecision::halfKeepsTheResidualStreamInFloat() {
  const auto wide = load(), half = load({.dtype = at::kHalf});
  const DitInputs inputs = in(at::kHalf, some_inputs());
  const at::NoGradGuard no_grad;
  const at::Tensor expected = wide->forward(in(at::kFloat, inputs));
  const CpuAutocast on(at::kHalf);
  std::vector<at::ScalarType> entering, leaving;
  const at::Tensor out = half->forward(inputs, [&](const Block& block, int, std::span<const at::Tensor> tensors) {
    entering.push_back(tensors[DitBlock::kX].scalar_type());
    Tensors outputs = block.forward(tensors);
    leaving.push_back(outputs[0].scalar_type());
    return outputs;
  });
  QCOMPARE(entering, (std::vector<at::ScalarType>{at::kHalf, at::kFloat, at::kFloat}));
  QCOMPARE(leaving, (std::vector<at::ScalarType>{at::kFloat, at::kFloat, at::kFloat}));
  QCOMPARE(out.scalar_type(), at::kHalf);
  LATHE_CLOSE(out, expected, 0.01);  // fp16 keeps 11 bits

  // A residual that fp16 cannot hold stays finite through every block.
  const Tensors block = half->blocks()[0]->forward(std::vector<at::Tensor>{
      at::full({1, 1, 2, 2, 64}, 7e4, at::kFloat), at::ones({1, 1, 64}, at::kHalf), at::ones({1, 1, 192}, at::kHalf),
      at::ones({1, 3, 32}, at::kHalf), at::ones({4, 1, 16}), at::zeros({4, 1, 16})});
  QVERIFY(block[0].isfinite().all().item<bool>());
}

void TestDitPrecision::autocastIsLeftAsFound() {
  const auto half = load({.dtype = at::kHalf});
  const at::NoGradGuard no_grad;
  const CpuAutocast on(at::kHalf);
  half->forward(in(at::kHalf, some_inputs()));
  QVERIFY(at::autocast::is_autocast_enabled(at::kCPU));
  QCOMPARE(at::autocast::get_autocast_dtype(at::kCPU), at::kHalf);
}

LATHE_TEST(TestDitPrecision);
#include "dit_precision_test.moc"
