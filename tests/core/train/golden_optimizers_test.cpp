#include <ATen/ATen.h>
#include <c10/core/GradMode.h>
#include <nlohmann/json.hpp>

#include "core/train/optimizers/adamw.h"
#include "core/train/optimizers/make_optimizer.h"
#include "tests/core/train/golden_file.h"
#include "tests/support/golden.h"
#include "tests/support/tensor_check.h"
#include "tests/support/test_main.h"

using namespace lathe;
using namespace lathe::train;
using lathe::testing::GoldenTensors;
using nlohmann::json;

class TestGoldenOptimizers : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void initTestCase();
  void matchEveryRecord();
  void wouldNoticeAnotherBeta();
};

namespace {

const std::vector<std::string> kParameters = {"w", "b", "u", "z"};

// The parameters of a record, and the gradient that each step sees: h·(p − c).
struct Problem {
  std::vector<at::Tensor> p, h, c;

  explicit Problem(const GoldenTensors& arrays) {
    for (const std::string& name : kParameters) {
      p.push_back((name == "z" ? at::zeros_like(arrays["c.z"]) : arrays["p0." + name]).requires_grad_(true));
      h.push_back(arrays["h." + name]);
      c.push_back(arrays["c." + name]);
    }
  }
  void set_gradients() {
    const c10::NoGradGuard no_grad;
    for (std::size_t i = 0; i < p.size(); ++i) p[i].mutable_grad() = h[i] * (p[i].detach() - c[i]);
  }
};

// Largest absolute difference from the record after 1, 5 and 20 steps.
double worst_difference(Optimizer& optimizer, Problem& problem, const std::string& id, const GoldenTensors& arrays) {
  double worst = 0.0;
  for (int step = 1; step <= 20; ++step) {
    problem.set_gradients();
    optimizer.step();
    optimizer.zero_grad();
    for (std::size_t i = 0; i < kParameters.size(); ++i) {
      const std::string key = id + ".step" + std::to_string(step) + "." + kParameters[i];
      if (!arrays.has(key)) continue;
      const at::Tensor expected = arrays[key];
      at::Tensor actual = problem.p[i].detach();
      if (actual.dim() == 2) actual = actual.narrow(1, 0, expected.size(1));
      worst = std::max(worst, (actual - expected).abs().max().item<double>());
    }
  }
  return worst;
}

}  // namespace

void TestGoldenOptimizers::initTestCase() {
  LATHE_NEEDS_GOLDEN("anima/optimizers.json");
  LATHE_NEEDS_GOLDEN("anima/optimizers.safetensors");
}

void TestGoldenOptimizers::matchEveryRecord() {
  const GoldenTensors arrays("optimizers.safetensors");
  int checked = 0;
  QStringList left;
  for (const json& record : testing::golden_json("optimizers.json")) {
    const std::string id = std::to_string(record["id"].get<int>());
    const double lr = record["learning_rate"];
    Problem problem(arrays);
    auto made = make_optimizer(record["optimizer_type"].get<std::string>(), testing::literals(record["optimizer_args"]),
                               {{"all", lr, lr, problem.p}});
    if (std::holds_alternative<NotYet>(made)) {
      left.append(QString::fromStdString(record["optimizer_type"]));
      continue;
    }
    ++checked;
    Optimizer& optimizer = *std::get<std::unique_ptr<Optimizer>>(made);
    QCOMPARE(optimizer.metadata_name(), record["metadata_name"].get<std::string>());
    const double worst = worst_difference(optimizer, problem, id, arrays);
    const double allowed = std::max(2e-6, 10 * record["sensitivity"].get<double>());
    QVERIFY2(worst <= allowed, qPrintable(QStringLiteral("record %1: off by %2, allowed %3")
                                              .arg(QString::fromStdString(id))
                                              .arg(worst)
                                              .arg(allowed)));
    qInfo("record %s %s: off by %.2g, allowed %.2g", id.c_str(), optimizer.metadata_name().c_str(), worst, allowed);
  }
  qInfo("%d records checked, %d left for later: %s", checked, static_cast<int>(left.size()),
        qPrintable(left.join(", ")));
  QVERIFY(checked > 0);
}

void TestGoldenOptimizers::wouldNoticeAnotherBeta() {
  const GoldenTensors arrays("optimizers.safetensors");
  Problem problem(arrays);
  Adamw optimizer({.beta2 = 0.998}, "", {{"all", 0.01, 0.01, problem.p}});
  QVERIFY(worst_difference(optimizer, problem, "0", arrays) > 4e-6);
}

LATHE_TEST(TestGoldenOptimizers);
#include "golden_optimizers_test.moc"
