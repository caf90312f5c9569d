#include <ATen/ATen.h>
#include <c10/core/GradMode.h>
#include <nlohmann/json.hpp>

#include "core/config/args.h"
#include "core/models/adapters/lora.h"
#include "core/models/adapters/lora_options.h"
#include "core/models/anima/dit.h"
#include "core/train/checkpointing.h"
#include "core/train/run_options.h"
#include "core/train/train_step.h"
#include "tests/core/train/golden_file.h"
#include "tests/support/golden.h"
#include "tests/support/tensor_check.h"
#include "tests/support/test_main.h"

using namespace lathe;
using lathe::testing::GoldenTensors;
using lathe::testing::relative_difference;
using nlohmann::json;

// Whole runs of the reference, step by step: the loss within 1e-5, the gradients' norm within 1e-4, first gradients
// within 2e-5 (all relative), the final weights within 2e-5.
class TestGoldenTrain : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void initTestCase();
  void matchTheReference_data();
  void matchTheReference();
  void wouldNoticeOneChangedWeight();
};

namespace {

constexpr double kLoss = 1e-5, kNorm = 1e-4, kGradient = 2e-5, kFinal = 2e-5;

// The run's settings: what every run of the generator had, then the words of its own.
config::Settings settings_of(const json& run) {
  std::vector<std::string> words = {"--network_module", "networks.lora_anima",
                                    "--learning_rate",  "1e-3",
                                    "--network_dim",    std::to_string(run.value("rank", 4)),
                                    "--network_alpha",  std::to_string(run.value("alpha", 2.0))};
  words.insert(words.end(), run["args"].begin(), run["args"].end());
  if (run.contains("net_kw")) {
    words.push_back("--network_args");
    for (const auto& [key, value] : run["net_kw"].items()) words.push_back(key + "=" + value.get<std::string>());
  }
  config::Findings findings;
  config::Settings settings = config::parse_arguments(words, findings).settings;
  if (findings.has_errors()) throw std::runtime_error(findings.all().front().english());
  return settings;
}

// One run as far as it has come.
class Replay {
 public:
  Replay(const std::string& name, const json& run)
      : name_(name),
        run_(run),
        settings_(settings_of(run)),
        inputs_("train_inputs.safetensors"),
        weights_("train_lora.safetensors"),
        dit_(models::anima::Dit::load(testing::golden_folder() / "anima" / "tiny_dit.safetensors", {})),
        options_(train::step_options(settings_, at::kFloat)),
        schedule_(train::schedule_for(settings_, settings_.integer("max_train_steps"))) {
    lora_ = std::make_unique<models::LoraNetwork>(dit_->linears(), "lora_unet", models::lora_options(settings_));
    const std::string start = weights_.has_any(name + ".initial.") ? name + ".initial." : "main.initial.";
    const c10::NoGradGuard no_grad;
    for (const auto& [key, tensor] : lora_->state()) tensor.copy_(weights_[start + key]);
    optimizer_ = train::optimizer_for(settings_, *lora_);
    if (settings_.flag("gradient_checkpointing")) run_block_ = train::with_checkpointing();
  }

  models::anima::Dit& dit() { return *dit_; }

  // Largest share of a tolerance that any number used up (1: at the limit), with a text that names it.
  std::pair<double, std::string> worst() {
    for (std::size_t k = 0; k < run_["rows"].size(); ++k) step(k);
    for (const auto& [key, tensor] : lora_->state()) {
      note((tensor - weights_[name_ + ".final." + key]).abs().max().item<double>() / kFinal, "final " + key);
    }
    return worst_;
  }

 private:
  train::StepBatch batch(std::size_t k) const {
    const std::string prefix = "batch" + std::to_string(k % 4) + ".";
    train::StepBatch result;
    result.latents = inputs_[prefix + "latents"];
    result.text = inputs_[prefix + "prompt_embeds"];
    result.text_mask = inputs_[prefix + "attn_mask"];
    result.t5_ids = inputs_[prefix + "t5_input_ids"];
    result.t5_mask = inputs_[prefix + "t5_attn_mask"];
    if (name_ == "alpha_mask") result.alpha_mask = inputs_[prefix + "alpha_mask"] / 100.0;  // its only mark is its name
    if (run_.contains("lossw")) result.loss_weights = testing::fp32(run_["lossw"]);
    if (run_.contains("drops")) {
      const json& rates = run_["drops"][k % 2];
      for (std::size_t i = 0; i < rates.size(); ++i) {
        if (rates[i] == 1.0) train::drop_caption(result, static_cast<std::int64_t>(i));
      }
    }
    return result;
  }

  train::StepDraws draws(std::size_t k) const {
    const std::string number = std::to_string(k);
    const bool table = options_.timesteps.sampling == train::TimestepSampling::sigma;
    train::StepDraws result;
    result.noise = inputs_["noise." + number];
    (table ? result.sigma.uniform : result.sigma.normal) = inputs_[(table ? "r." : "n.") + number];
    return result;
  }

  void step(std::size_t k) {
    const json& row = run_["rows"][k];
    for (train::ParameterGroup& group : optimizer_->groups()) {
      group.learning_rate = group.initial_learning_rate * schedule_.factor(steps_);
    }
    const train::StepResult result = train::micro_step(*dit_, options_, batch(k), draws(k), run_block_);
    const std::string at = " at micro-step " + std::to_string(k);
    note_relative(result.loss, at::scalar_tensor(row["loss"].get<double>()), kLoss, "loss" + at);
    note_relative(result.timesteps.model_time, testing::fp32(row["model_t"]), 2e-6, "model_t" + at);
    if (weights_.has(name_ + ".pred." + std::to_string(k))) {
      note_relative(result.prediction, weights_[name_ + ".pred." + std::to_string(k)], kLoss, "prediction" + at);
      note_relative(result.target, weights_[name_ + ".target." + std::to_string(k)], kLoss, "target" + at);
    }
    if (row["synced"].get<bool>()) end_accumulation(row, at);
    limit_norms(row, at);
  }

  void end_accumulation(const json& row, const std::string& at) {
    if (steps_ == 0 && weights_.has_any(name_ + ".grad1.")) {
      for (const auto& [key, tensor] : lora_->state()) {
        if (weights_.has(name_ + ".grad1." + key))
          note_relative(tensor.grad(), weights_[name_ + ".grad1." + key], kGradient, "gradient of " + key);
      }
    }
    for (std::size_t i = 0; i < row["lr"].size(); ++i) {
      note(std::abs(optimizer_->groups()[i].learning_rate - row["lr"][i].get<double>()) / 1e-12, "learning rate" + at);
    }
    const train::OptimizerStep ended =
        train::optimizer_step(*optimizer_, lora_->parameters(), settings_.real("max_grad_norm"));
    note_relative(ended.gradient_norm, at::scalar_tensor(row["grad_norm"].get<double>()), kNorm, "norm" + at);
    ++steps_;
  }

  void limit_norms(const json& row, const std::string& at) {
    if (!settings_.is_set("scale_weight_norms")) return;
    const auto report = lora_->limit_norms(settings_.real("scale_weight_norms"));
    note(report.scaled == row["keys_scaled"].get<std::int64_t>() ? 0.0 : 1e9, "keys_scaled" + at);
    note(std::abs(report.mean - row["mean_norm"].get<double>()) / (1e-5 * row["mean_norm"].get<double>()),
         "mean_norm" + at);
    note(std::abs(report.maximum - row["max_norm"].get<double>()) / (1e-5 * row["max_norm"].get<double>()),
         "max_norm" + at);
  }

  void note_relative(const at::Tensor& actual, const at::Tensor& expected, double tolerance, const std::string& what) {
    note(relative_difference(actual, expected) / tolerance, what);
  }
  void note(double share, const std::string& what) {
    if (!(share <= worst_.first)) worst_ = {share, what};
  }

  std::string name_;
  json run_;
  config::Settings settings_;
  GoldenTensors inputs_, weights_;
  std::unique_ptr<models::anima::Dit> dit_;
  std::unique_ptr<models::LoraNetwork> lora_;
  train::StepOptions options_;
  train::LrSchedule schedule_;
  models::RunBlock run_block_ = models::run_eagerly;
  std::unique_ptr<train::Optimizer> optimizer_;
  std::int64_t steps_ = 0;
  std::pair<double, std::string> worst_ = {0.0, "nothing"};
};

}  // namespace

void TestGoldenTrain::initTestCase() {
  for (const char* file : {"anima/train.json", "anima/train_inputs.safetensors", "anima/train_lora.safetensors",
                           "anima/tiny_dit.safetensors"}) {
    LATHE_NEEDS_GOLDEN(file);
  }
}

void TestGoldenTrain::matchTheReference_data() {
  QTest::addColumn<QString>("name");
  const json runs = testing::golden_json("train.json");
  for (const auto& [name, run] : runs.items()) {
    QTest::newRow(name.c_str()) << QString::fromStdString(name);
  }
}

void TestGoldenTrain::matchTheReference() {
  QFETCH(QString, name);
  Replay replay(name.toStdString(), testing::golden_json("train.json")[name.toStdString()]);
  const auto [share, what] = replay.worst();
  qInfo("nearest to its tolerance: %s, %.3g of it", what.c_str(), share);
  QVERIFY2(share <= 1.0,
           qPrintable(QStringLiteral("%1: %2 times the tolerance").arg(QString::fromStdString(what)).arg(share)));
}

void TestGoldenTrain::wouldNoticeOneChangedWeight() {
  json run = testing::golden_json("train.json")["l1"];
  Replay replay("l1", run);
  at::Tensor weight = replay.dit().state().back().second;
  weight.set_data(weight * 1.01);  // not in place: the file is mapped read-only
  QVERIFY(replay.worst().first > 1.0);
}

LATHE_TEST(TestGoldenTrain);
#include "golden_train_test.moc"
