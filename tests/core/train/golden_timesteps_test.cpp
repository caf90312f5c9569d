#include <ATen/ATen.h>
#include <nlohmann/json.hpp>

#include "core/base/error.h"
#include "core/train/objectives/loss.h"
#include "core/train/objectives/timesteps.h"
#include "tests/core/train/golden_file.h"
#include "tests/support/golden.h"
#include "tests/support/tensor_check.h"
#include "tests/support/test_main.h"

using namespace lathe;
using namespace lathe::train;
using lathe::testing::GoldenTensors;
using lathe::testing::relative_difference;
using nlohmann::json;

// 2e-6 relative; what went through bf16 must be equal.
class TestGoldenTimesteps : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void initTestCase();
  void matchEveryCase();
  void matchFluxShiftAtOtherSizes();
  void matchInputPerturbation();
  void matchTheHuberTable();
  void refuseHuberWithoutAUsableSchedule();
  void wouldNoticeAnotherShift();

 private:
  json index_;
};

namespace {

constexpr double kTolerance = 2e-6;

TimestepOptions options_of(const json& c) {
  return {.sampling = timestep_sampling(c["timestep_sampling"].get<std::string>()),
          .weighting = weighting_scheme(c["weighting_scheme"].get<std::string>()),
          .sigmoid_scale = c["sigmoid_scale"],
          .discrete_flow_shift = c["discrete_flow_shift"],
          .logit_mean = c["logit_mean"],
          .logit_std = c["logit_std"],
          .mode_scale = c["mode_scale"],
          .dtype = testing::dtype_of(c["dtype"])};
}

SigmaDraw draw_of(const json& c, const GoldenTensors& arrays) {
  return c["draw"] == "n" ? SigmaDraw{.normal = arrays["n"]} : SigmaDraw{.uniform = arrays["r"]};
}

double allowed(at::ScalarType dtype) {
  return dtype == at::kFloat ? kTolerance : 0.0;
}

}  // namespace

#define MATCHES_ARRAY(actual, key)                                                               \
  QVERIFY2(relative_difference((actual), arrays[id + (key)]) <= allowed((actual).scalar_type()), \
           qPrintable(QStringLiteral("case %1%2: off by %3")                                     \
                          .arg(QString::fromStdString(id), key)                                  \
                          .arg(relative_difference((actual), arrays[id + (key)]))))

void TestGoldenTimesteps::initTestCase() {
  LATHE_NEEDS_GOLDEN("anima/timesteps.json");
  LATHE_NEEDS_GOLDEN("anima/timesteps.safetensors");
  index_ = testing::golden_json("timesteps.json");
}

void TestGoldenTimesteps::matchEveryCase() {
  const GoldenTensors arrays("timesteps.safetensors");
  int mixed = 0;
  for (const json& c : index_["cases"]) {
    const std::string id = std::to_string(c["id"].get<int>());
    const TimestepOptions options = options_of(c);
    const Timesteps made = sample_timesteps(options, draw_of(c, arrays), c["latent_hw"][0], c["latent_hw"][1]);
    QCOMPARE(made.sigma.scalar_type(), testing::dtype_of(c["sigma_dtype"]));
    QCOMPARE(made.model_time.scalar_type(), options.dtype);
    MATCHES_ARRAY(made.sigma, ".sigma");
    MATCHES_ARRAY(made.timesteps, ".timesteps");
    MATCHES_ARRAY(made.model_time, ".model_t");
    const at::Tensor weighting = loss_weighting(options.weighting, made.sigma);
    QCOMPARE(weighting.scalar_type(), testing::dtype_of(c["weighting_dtype"]));
    MATCHES_ARRAY(weighting, ".weighting");
    if (!arrays.has(id + ".noisy")) continue;
    ++mixed;
    MATCHES_ARRAY(add_noise(options, arrays["latents"], arrays["noise"], made.sigma, std::nullopt), ".noisy");
  }
  qInfo("%zu cases, %d of them with the noisy input", index_["cases"].size(), mixed);
  QVERIFY(mixed > 0);
}

void TestGoldenTimesteps::matchFluxShiftAtOtherSizes() {
  const GoldenTensors arrays("timesteps.safetensors");
  const TimestepOptions options{.sampling = TimestepSampling::flux_shift};
  QVERIFY(!index_["flux_shift_sizes"].empty());
  for (const json& c : index_["flux_shift_sizes"]) {
    const Timesteps made = sample_timesteps(options, {.normal = arrays["n"]}, c["latent_hw"][0], c["latent_hw"][1]);
    LATHE_CLOSE(made.sigma, testing::fp32(c["sigma"]), kTolerance);
  }
}

void TestGoldenTimesteps::matchInputPerturbation() {
  const GoldenTensors arrays("timesteps.safetensors");
  QVERIFY(!index_["ip_noise"].empty());
  for (const json& c : index_["ip_noise"]) {
    const std::string prefix = c["prefix"];
    const TimestepOptions options{.sampling = TimestepSampling::uniform,
                                  .ip_noise_gamma = c["gamma"],
                                  .ip_noise_gamma_random_strength = c["random_strength"]};
    const Timesteps made = sample_timesteps(options, {.uniform = arrays["r"]}, 8, 8);
    InputPerturbation perturbation{arrays[prefix + ".xi"], {}};
    if (c["random_strength"].get<bool>()) perturbation.strength = at::full({1}, c["strength_draw"].get<double>());
    LATHE_CLOSE(add_noise(options, arrays["latents"], arrays["noise"], made.sigma, perturbation),
                arrays[prefix + ".noisy"], kTolerance);
  }
}

void TestGoldenTimesteps::matchTheHuberTable() {
  QVERIFY(!index_["huber"].empty());
  for (const json& c : index_["huber"]) {
    const LossOptions options = loss_options(c["loss_type"].get<std::string>(), c["huber_schedule"].get<std::string>(),
                                             c["huber_c"], c["huber_scale"], Weighting::uniform);
    const at::Tensor time = testing::fp32(c["model_t"]).to(testing::dtype_of(c["t_dtype"]));
    const at::Tensor error = testing::fp32(c["error"]).view({-1, 1, 1, 1});
    const at::Tensor threshold = huber_threshold(options, time);
    if (c["threshold"].is_null()) {
      QVERIFY(!threshold.defined());
    } else {
      LATHE_CLOSE(threshold, testing::fp32(c["threshold"]), allowed(threshold.scalar_type()));
    }
    const at::Tensor loss = elementwise_loss(options, error, at::zeros_like(error), threshold);
    LATHE_CLOSE(loss.flatten(), testing::fp32(c["loss"]), kTolerance);
  }
}

void TestGoldenTimesteps::refuseHuberWithoutAUsableSchedule() {
  QVERIFY(index_["huber_default_schedule"].get<std::string>().starts_with("NotImplementedError"));
  QVERIFY_EXCEPTION_THROWN(loss_options("huber", "snr", 0.1, 1.0, Weighting::uniform), Error);
  loss_options("l2", "snr", 0.1, 1.0, Weighting::uniform);  // not read there
}

void TestGoldenTimesteps::wouldNoticeAnotherShift() {
  const GoldenTensors arrays("timesteps.safetensors");
  for (const json& c : index_["cases"]) {
    if (c["timestep_sampling"] != "shift" || c["dtype"] != "fp32") continue;
    TimestepOptions options = options_of(c);
    options.discrete_flow_shift *= 1.01;
    const Timesteps made = sample_timesteps(options, draw_of(c, arrays), 8, 8);
    QVERIFY(relative_difference(made.sigma, arrays[std::to_string(c["id"].get<int>()) + ".sigma"]) > kTolerance);
    return;
  }
  QFAIL("no case with shift");
}

LATHE_TEST(TestGoldenTimesteps);
#include "golden_timesteps_test.moc"
