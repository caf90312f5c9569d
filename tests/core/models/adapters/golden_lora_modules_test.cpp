#include <cmath>

#include <nlohmann/json.hpp>

#include <ATen/ATen.h>

#include "core/base/files.h"
#include "core/base/log.h"
#include "core/models/adapters/lora.h"
#include "core/models/adapters/lora_options.h"
#include "core/models/anima/dit.h"
#include "core/models/common/state_dict.h"
#include "tests/support/golden.h"
#include "tests/support/tensor_check.h"
#include "tests/support/test_main.h"

using namespace lathe::models;
using nlohmann::json;

// Which modules the reference makes, their names, ranks, scales and groups, on the full model; and what its files hold,
// on the tiny one. All exact.
class TestGoldenLoraModules : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void initTestCase();
  void cleanupTestCase();
  void modulesAndGroupsOfTheFullModel_data();
  void modulesAndGroupsOfTheFullModel();
  void modulesOfTheTextEncoder_data();
  void modulesOfTheTextEncoder();
  void stateOfTheTinyModel_data();
  void stateOfTheTinyModel();
  void anotherRankAlphaOrPatternIsSeen();

 private:
  json golden_;
  std::unique_ptr<anima::Dit> full_;
};

namespace {

constexpr const char* kFile = "anima/lora_modules.json";
constexpr const char* kNames = "anima/full_size_names.json";
constexpr double kLearningRate = 5e-5;  // of the groups in the file

json read(const char* file) {
  return json::parse(lathe::read_text(lathe::testing::golden_folder() / file));
}

at::Tensor shape_only(const json& shape) {
  return at::empty(shape.get<std::vector<std::int64_t>>(), at::TensorOptions().device(at::kMeta));
}

LoraOptions options_of(const json& entry) {
  using lathe::config::Source;
  lathe::config::Settings settings;
  std::vector<std::string> arguments;
  for (const auto& [key, value] : entry.at("network_args").items()) {
    arguments.push_back(key + "=" + value.get<std::string>());
  }
  settings.set("network_dim", entry.at("network_dim").get<std::int64_t>(), Source::command_line);
  settings.set("network_alpha", entry.at("network_alpha").get<double>(), Source::command_line);
  settings.set("network_args", arguments, Source::command_line);
  return lora_options(settings);
}

// As the file has them: [lora name, original name, rank, scale], [group, tensors, rate].
json modules_of(const LoraNetwork& lora) {
  json modules = json::array();
  for (const LoraModule& module : lora.modules()) {
    modules.push_back({module.lora_name, module.original_name, module.rank, module.scale});
  }
  return modules;
}

json groups_of(const LoraNetwork& lora) {
  json groups = json::array();
  for (const LoraGroup& group : lora.groups(kLearningRate)) {
    groups.push_back({group.description, group.parameters.size(), group.learning_rate});
  }
  return groups;
}

std::int64_t trainable(const LoraNetwork& lora) {
  std::int64_t count = 0;
  for (const at::Tensor& parameter : lora.parameters()) count += parameter.numel();
  return count;
}

// Qwen3's Linears by the names of its weights; the model itself is not needed.
struct TextEncoderLinears {
  std::vector<std::unique_ptr<Linear>> owned;
  std::vector<NamedLinear> named;

  explicit TextEncoderLinears(const json& weights) {
    for (const json& entry : weights) {
      const std::string key = entry.at(0);
      const std::size_t attention = key.find("self_attn."), mlp = key.find("mlp.");
      const std::size_t end = key.rfind(".weight");
      if (entry.at(1).size() != 2 || (attention == std::string::npos && mlp == std::string::npos)) continue;
      owned.push_back(std::make_unique<Linear>(Linear{.weight = shape_only(entry.at(1))}));
      named.push_back(
          {key.substr(0, end), mlp == std::string::npos ? "Qwen3Attention" : "Qwen3MLP", owned.back().get()});
    }
  }
};

LoraOptions tiny_options(const json& settings) {
  LoraOptions options;
  if (settings.at("rank").is_number()) options.rank = settings.at("rank");
  options.alpha = settings.at("alpha").is_number() ? settings.at("alpha").get<double>() : 1.0;
  options.alpha_is_integer = settings.at("alpha").is_number_integer();
  options.train_llm_adapter = settings.value("train_llm_adapter", "") == "true";
  if (settings.contains("include_patterns")) options.include_patterns = {".*"};
  return options;
}

}  // namespace

void TestGoldenLoraModules::initTestCase() {
  LATHE_NEEDS_GOLDEN(kFile);
  LATHE_NEEDS_GOLDEN(kNames);
  lathe::log::set_up(lathe::log::Level::off);  // one case has a pattern that is none
  golden_ = read(kFile);
  StateDict weights;
  const json names = read(kNames);
  for (const json& entry : names.at("dit")) weights.put(entry.at(0), shape_only(entry.at(1)));
  full_ = anima::Dit::build(weights, {.device = at::kMeta});
}

void TestGoldenLoraModules::cleanupTestCase() {
  lathe::log::set_up(lathe::log::Level::info);
}

void TestGoldenLoraModules::modulesAndGroupsOfTheFullModel_data() {
  QTest::addColumn<int>("index");
  int index = 0;
  for (const json& entry : golden_.at("full_size")) {
    QTest::newRow(entry.at("name").get<std::string>().c_str()) << index++;
  }
}

void TestGoldenLoraModules::modulesAndGroupsOfTheFullModel() {
  QFETCH(int, index);
  const json& all = golden_.at("full_size");
  const json& entry = all.at(static_cast<std::size_t>(index));
  const json& expected = entry.at("unet_modules").is_array() ? entry.at("unet_modules") : all.at(0).at("unet_modules");
  const LoraNetwork lora(full_->linears(), "lora_unet", options_of(entry));
  QVERIFY(modules_of(lora) == expected);
  const json groups = groups_of(lora);
  QVERIFY2(groups == entry.at("groups"), groups.dump().c_str());
  QCOMPARE(trainable(lora), entry.at("trainable_parameters").get<std::int64_t>());
}

void TestGoldenLoraModules::modulesOfTheTextEncoder_data() {
  QTest::addColumn<int>("index");
  int index = -1;
  for (const json& entry : golden_.at("full_size")) {
    ++index;
    if (entry.at("n_text_encoder_modules") == 0) continue;  // none was given there
    QTest::newRow(entry.at("name").get<std::string>().c_str()) << index;
  }
}

void TestGoldenLoraModules::modulesOfTheTextEncoder() {
  QFETCH(int, index);
  const json& entry = golden_.at("full_size").at(static_cast<std::size_t>(index));
  const TextEncoderLinears linears(read(kNames).at("qwen3_0_6b"));
  const LoraNetwork lora(linears.named, "lora_te", options_of(entry));
  QCOMPARE(lora.modules().size(), entry.at("n_text_encoder_modules").get<std::size_t>());
  if (!entry.contains("text_encoder_modules")) return;
  json names = json::array();
  for (const LoraModule& module : lora.modules()) names.push_back({module.lora_name, module.original_name});
  QVERIFY(names == entry.at("text_encoder_modules"));
}

void TestGoldenLoraModules::stateOfTheTinyModel_data() {
  QTest::addColumn<QString>("name");
  for (const auto& [name, entry] : golden_.at("tiny").items()) {
    QTest::newRow(name.c_str()) << QString::fromStdString(name);
  }
}

void TestGoldenLoraModules::stateOfTheTinyModel() {
  QFETCH(QString, name);
  LATHE_NEEDS_GOLDEN("anima/tiny_dit.safetensors");
  const json& entry = golden_.at("tiny").at(name.toStdString());
  const auto model = anima::Dit::load(lathe::testing::golden_folder() / "anima" / "tiny_dit.safetensors", {});
  const LoraNetwork lora(model->linears(), "lora_unet", tiny_options(entry.at("settings")));
  const std::map<at::ScalarType, std::string> names = {{at::kLong, "int64"}, {at::kFloat, "float32"}};
  json state = json::array();
  for (const auto& [key, tensor] : lora.state()) {
    state.push_back({key, tensor.sizes().vec(), names.at(tensor.scalar_type())});
  }
  QVERIFY(state == entry.at("state"));
  QCOMPARE(lora.modules()[0].scale, entry.at("scale").get<double>());
  QCOMPARE(lora.modules()[0].alpha_tensor.to(at::kDouble).item<double>(), entry.at("alpha_value").get<double>());
}

void TestGoldenLoraModules::anotherRankAlphaOrPatternIsSeen() {
  const json& entry = golden_.at("full_size").at(0);
  const auto differs = [&](LoraOptions options) {
    const LoraNetwork lora(full_->linears(), "lora_unet", options);
    return modules_of(lora) != entry.at("unet_modules");
  };
  QVERIFY(!differs(options_of(entry)));
  LoraOptions options = options_of(entry);
  options.rank += 1;
  QVERIFY(differs(options));
  options = options_of(entry);
  options.alpha *= 1.01;
  QVERIFY(differs(options));
  options = options_of(entry);
  options.exclude_patterns = {R"(blocks\.27\.mlp\.layer2)"};
  QVERIFY(differs(options));
}

LATHE_TEST(TestGoldenLoraModules);
#include "golden_lora_modules_test.moc"
