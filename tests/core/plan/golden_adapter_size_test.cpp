#include <nlohmann/json.hpp>

#include "core/base/files.h"
#include "core/base/format.h"
#include "core/plan/adapter_size.h"
#include "tests/support/golden.h"
#include "tests/support/test_main.h"

using namespace lathe;
using namespace lathe::plan;
using nlohmann::json;

namespace {

constexpr auto kNames = "anima/full_size_names.json";
constexpr auto kModules = "anima/lora_modules.json";

json golden(const char* file) {
  return json::parse(read_text(lathe::testing::golden_folder() / file));
}

std::vector<DitTensor> full_size_dit() {
  std::vector<DitTensor> tensors;
  const json names = golden(kNames);
  for (const json& entry : names.at("dit")) tensors.push_back({entry.at(0), entry.at(1)});
  return tensors;
}

config::Settings settings_of(const json& record) {
  config::Settings settings;
  settings.set("network_dim", record.at("network_dim").get<std::int64_t>(), config::Source::command_line);
  std::vector<std::string> arguments;
  for (const auto& [key, value] : record.at("network_args").items()) {
    arguments.push_back(key + "=" + value.get<std::string>());
  }
  settings.set("network_args", arguments, config::Source::command_line);
  return settings;
}

}  // namespace

class TestGoldenAdapterSize : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void countsTheFullSizeModel();
  void countsModulesAndParametersOfEveryCase();
};

void TestGoldenAdapterSize::countsTheFullSizeModel() {
  LATHE_NEEDS_GOLDEN(kNames);
  const DitShape shape = dit_shape(full_size_dit());
  QCOMPARE(shape.parameters, golden(kNames).at("counts").at("dit").at(2).get<std::int64_t>());
  QCOMPARE(shape.blocks, std::int64_t{28});
  QCOMPARE(shape.width, std::int64_t{2048});
  QCOMPARE(shape.mlp_width, std::int64_t{8192});
  QCOMPARE(shape.text_width, std::int64_t{1024});
}

void TestGoldenAdapterSize::countsModulesAndParametersOfEveryCase() {
  LATHE_NEEDS_GOLDEN(kNames);
  LATHE_NEEDS_GOLDEN(kModules);
  const std::vector<DitTensor> dit = full_size_dit();
  const json records = golden(kModules).at("full_size");
  std::size_t default_modules = 0;
  for (const json& record : records) {
    const json& modules = record.at("unet_modules");
    if (record.at("name") == "default") default_modules = modules.size();
    const std::size_t expected = modules.is_array() ? modules.size() : default_modules;
    const AdapterSize size = adapter_size(dit, settings_of(record));
    const std::string name = record.at("name");
    QVERIFY2(size.modules == static_cast<std::int64_t>(expected), name.c_str());
    // The trainable parameters of the record are those of the DiT alone.
    QVERIFY2(size.parameters == record.at("trainable_parameters").get<std::int64_t>(),
             format("{}: {}", name, size.parameters).c_str());
  }
  QVERIFY(records.size() > 10);
}

LATHE_TEST(TestGoldenAdapterSize);
#include "golden_adapter_size_test.moc"
