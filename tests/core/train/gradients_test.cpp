#include "core/train/gradients.h"

#include <limits>

#include <ATen/ATen.h>

#include "core/train/grad_scaler.h"
#include "core/train/optimizers/adamw.h"
#include "tests/support/test_main.h"

using namespace lathe::train;

class TestGradients : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void clipsByTheNormOverAllTensors();
  void leavesSmallGradientsAlone();
  void scalerHalvesAfterAnOverflowAndGrowsAfterGoodSteps();
  void scalerTakesFp16Gradients();
  void adamwContinuesFromItsSavedState();
  void adamwSkipsParametersWithoutGradient();
};

namespace {

at::Tensor parameter(std::vector<float> values, std::vector<float> gradient = {}) {
  at::Tensor result = at::tensor(values).requires_grad_(true);
  if (!gradient.empty()) result.mutable_grad() = at::tensor(gradient);
  return result;
}

}  // namespace

void TestGradients::clipsByTheNormOverAllTensors() {
  const std::vector<at::Tensor> parameters = {parameter({0, 0}, {3, 0}), parameter({0}), parameter({0}, {4})};
  const at::Tensor norm = clip_gradients(parameters, 0.5);
  QCOMPARE(norm.item<float>(), 5.0F);
  const float factor = 0.5F / (5.0F + 1e-6F);
  QCOMPARE(parameters[0].grad()[0].item<float>(), 3.0F * factor);
  QCOMPARE(parameters[2].grad()[0].item<float>(), 4.0F * factor);
}

void TestGradients::leavesSmallGradientsAlone() {
  const std::vector<at::Tensor> parameters = {parameter({0, 0}, {0.3F, 0.4F})};
  clip_gradients(parameters, 1.0);
  QCOMPARE(parameters[0].grad()[1].item<float>(), 0.4F);
}

void TestGradients::scalerHalvesAfterAnOverflowAndGrowsAfterGoodSteps() {
  GradScaler scaler(at::kCPU, {.initial_scale = 8.0, .growth_interval = 2});
  QCOMPARE(scaler.scale(at::full({}, 2.0F)).item<float>(), 16.0F);

  const std::vector<at::Tensor> bad = {parameter({0}, {std::numeric_limits<float>::infinity()})};
  scaler.unscale(bad);
  QVERIFY(scaler.found_overflow());
  scaler.update();
  QCOMPARE(scaler.current_scale(), 4.0);

  for (int i = 0; i < 2; ++i) {
    const std::vector<at::Tensor> good = {parameter({0}, {6})};
    scaler.unscale(good);
    QVERIFY(!scaler.found_overflow());
    QCOMPARE(good[0].grad()[0].item<float>(), 1.5F);
    scaler.update();
  }
  QCOMPARE(scaler.current_scale(), 8.0);
}

void TestGradients::scalerTakesFp16Gradients() {
  GradScaler scaler(at::kCPU, {.initial_scale = 4.0});
  at::Tensor p = at::zeros({2}, at::kHalf).requires_grad_(true);
  p.mutable_grad() = at::full({2}, 2.0, at::kHalf);
  scaler.unscale({p, parameter({0}, {2})});
  QCOMPARE(p.grad()[0].item<float>(), 0.5F);
}

void TestGradients::adamwContinuesFromItsSavedState() {
  const auto step = [](Adamw& optimizer, at::Tensor& p, float gradient) {
    p.mutable_grad() = at::full({2}, gradient);
    optimizer.step();
  };
  at::Tensor p = parameter({1, 2});
  Adamw original({}, "", {{"all", 0.1, 0.1, {p}}});
  step(original, p, 1.0F);
  NamedTensors saved;
  for (const auto& [name, tensor] : original.state()) saved.emplace_back(name, tensor.clone());
  at::Tensor q = p.detach().clone().requires_grad_(true);
  Adamw continued({}, "", {{"all", 0.1, 0.1, {q}}});
  continued.load_state(saved);
  step(original, p, -3.0F);
  step(continued, q, -3.0F);
  QVERIFY(at::equal(p, q));
}

void TestGradients::adamwSkipsParametersWithoutGradient() {
  const at::Tensor moved = parameter({1}, {1});
  const at::Tensor still = parameter({1});
  Adamw optimizer({}, "", {{"all", 0.1, 0.1, {still, moved}}});
  optimizer.step();
  QCOMPARE(still.item<float>(), 1.0F);
  QVERIFY(moved.item<float>() < 1.0F);
  QCOMPARE(optimizer.state().front().first, std::string("1.step"));
}

LATHE_TEST(TestGradients);
#include "gradients_test.moc"
