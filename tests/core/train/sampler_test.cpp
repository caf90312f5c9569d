#include "core/train/sampler.h"

#include <ATen/ATen.h>

#include "tests/support/tensor_check.h"
#include "tests/support/test_main.h"

using namespace lathe::train;

class TestSampler : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void followsAConstantVelocityExactly();
  void guidesAwayFromTheNegativePrompt();
  void asksOnceAStepWithoutGuidance_data();
  void asksOnceAStepWithoutGuidance();
  void keepsLatentsInTheModelsType();
  void shiftsSigmasInTheModelsType();
  void seedMakesTheNoiseRepeat();
};

void TestSampler::followsAConstantVelocityExactly() {
  // The steps' lengths add up to 1, from sigma 1 to 0: x ends at noise − velocity.
  const at::Tensor noise = at::full({1, 16, 1, 2, 2}, 3.0);
  const at::Tensor x =
      sample_flow({.steps = 8, .scale = 1.0, .flow_shift = 3.0}, noise, false,
                  [](const at::Tensor& at_x, const at::Tensor&, bool) { return at::full_like(at_x, 2.0); });
  LATHE_CLOSE(x, at::full({1, 16, 1, 2, 2}, 1.0), 1e-6);
}

void TestSampler::guidesAwayFromTheNegativePrompt() {
  const at::Tensor noise = at::zeros({1, 16, 1, 2, 2});
  const at::Tensor x = sample_flow({.steps = 4, .scale = 3.0}, noise, true,
                                   [](const at::Tensor& at_x, const at::Tensor&, bool negative) {
                                     return at::full_like(at_x, negative ? 1.0 : 2.0);
                                   });
  LATHE_CLOSE(x, at::full_like(noise, -(1.0 + 3.0 * (2.0 - 1.0))), 1e-6);
}

void TestSampler::asksOnceAStepWithoutGuidance_data() {
  QTest::addColumn<double>("scale");
  QTest::addColumn<bool>("negative");
  QTest::addColumn<int>("calls");
  QTest::newRow("guided") << 1.5 << true << 10;
  QTest::newRow("scale 1") << 1.0 << true << 5;
  QTest::newRow("no negative prompt") << 7.5 << false << 5;
}

void TestSampler::asksOnceAStepWithoutGuidance() {
  QFETCH(double, scale);
  QFETCH(bool, negative);
  QFETCH(int, calls);
  int asked = 0;
  std::int64_t steps_told = 0;
  sample_flow(
      {.steps = 5, .scale = scale}, at::zeros({1, 16, 1, 2, 2}), negative,
      [&](const at::Tensor& x, const at::Tensor&, bool) {
        ++asked;
        return at::zeros_like(x);
      },
      [&](std::int64_t done) { steps_told = done; });
  QCOMPARE(asked, calls);
  QCOMPARE(steps_told, 5);
}

void TestSampler::keepsLatentsInTheModelsType() {
  const at::Tensor x = sample_flow({.steps = 2, .dtype = at::kBFloat16}, at::randn({1, 16, 1, 2, 2}), false,
                                   [](const at::Tensor& at_x, const at::Tensor& t, bool) {
                                     if (at_x.scalar_type() != at::kBFloat16 || t.scalar_type() != at::kBFloat16)
                                       throw std::logic_error("type");
                                     return at::zeros_like(at_x, at::kFloat);
                                   });
  QCOMPARE(x.scalar_type(), at::kBFloat16);
}

void TestSampler::shiftsSigmasInTheModelsType() {
  const at::Tensor sigmas = flow_sigmas({.steps = 4, .flow_shift = 3.0}, at::kCPU);
  LATHE_CLOSE(sigmas, at::tensor({1.0F, 0.9F, 0.75F, 0.5F, 0.0F}), 1e-6);
  QCOMPARE(flow_sigmas({.steps = 4, .dtype = at::kBFloat16}, at::kCPU).scalar_type(), at::kBFloat16);
}

void TestSampler::seedMakesTheNoiseRepeat() {
  const at::Tensor first = sampling_noise(64, 96, 7);
  QCOMPARE(first.sizes().vec(), (std::vector<std::int64_t>{1, 16, 1, 8, 12}));
  QVERIFY(!at::equal(sampling_noise(64, 96, std::nullopt), first));
  QVERIFY(at::equal(sampling_noise(64, 96, 7), first));
}

LATHE_TEST(TestSampler);
#include "sampler_test.moc"
