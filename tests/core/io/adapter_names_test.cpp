#include "core/io/adapter_names.h"

#include <vector>

#include <QFile>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>

#include "core/base/error.h"
#include "core/base/paths.h"
#include "tests/support/golden.h"
#include "tests/support/test_main.h"

using namespace lathe;
using namespace lathe::io;
using namespace lathe::testing;

namespace {

AdapterNames small_names() {
  const std::vector<std::string> transformer = {
      "blocks.0.self_attn.q_proj",       "blocks.0.mlp.layer1",   "blocks.10.adaln_modulation_self_attn.1",
      "blocks.0.adaln_modulation_mlp.2", "t_embedder.1.linear_1", "x_embedder.proj.1",
      "llm_adapter.blocks.3.mlp.0"};
  return {transformer, std::vector<std::string>{"layers.5.mlp.gate_proj"}};
}

QString text(const std::optional<std::string>& name) {
  return name ? QString::fromStdString(*name) : QString("unknown");
}

}  // namespace

class TestAdapterNames : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void translatesBothWays_data();
  void translatesBothWays();
  void understandsTheWrongNamesOfTheReference_data();
  void understandsTheWrongNamesOfTheReference();
  void givesNothingForUnknownNames_data();
  void givesNothingForUnknownNames();
  void refusesModulesThatFlattenToOneName();
};

void TestAdapterNames::translatesBothWays_data() {
  QTest::addColumn<QString>("file");
  QTest::addColumn<QString>("program");
  const auto row = [](const char* file, const char* program) { QTest::newRow(file) << file << program; };
  row("lora_unet_blocks_0_self_attn_q_proj.lora_down.weight",
      "diffusion_model.blocks.0.self_attn.q_proj.lora_A.weight");
  row("lora_unet_blocks_0_mlp_layer1.lora_up.weight", "diffusion_model.blocks.0.mlp.layer1.lora_B.weight");
  row("lora_unet_blocks_0_mlp_layer1.alpha", "diffusion_model.blocks.0.mlp.layer1.alpha");
  row("lora_unet_blocks_0_mlp_layer1.dora_scale", "diffusion_model.blocks.0.mlp.layer1.dora_scale");
  row("lora_unet_blocks_10_adaln_modulation_self_attn_1.lora_up.weight",
      "diffusion_model.blocks.10.adaln_modulation_self_attn.1.lora_B.weight");
  row("lora_unet_blocks_0_adaln_modulation_mlp_2.alpha", "diffusion_model.blocks.0.adaln_modulation_mlp.2.alpha");
  row("lora_unet_t_embedder_1_linear_1.lora_down.weight", "diffusion_model.t_embedder.1.linear_1.lora_A.weight");
  row("lora_unet_x_embedder_proj_1.alpha", "diffusion_model.x_embedder.proj.1.alpha");
  row("lora_unet_llm_adapter_blocks_3_mlp_0.alpha", "diffusion_model.llm_adapter.blocks.3.mlp.0.alpha");
  row("lora_te_layers_5_mlp_gate_proj.lora_up.weight",
      "text_encoders.qwen3_06b.transformer.model.layers.5.mlp.gate_proj.lora_B.weight");
}

void TestAdapterNames::translatesBothWays() {
  QFETCH(QString, file);
  QFETCH(QString, program);
  QCOMPARE(text(small_names().to_image_program(file.toStdString())), program);
  QCOMPARE(text(small_names().from_image_program(program.toStdString())), file);
}

void TestAdapterNames::understandsTheWrongNamesOfTheReference_data() {
  QTest::addColumn<QString>("program");
  QTest::addColumn<QString>("file");
  QTest::newRow("t_embedder") << "diffusion_model.t.embedder.1.linear_1.lora_A.weight"
                              << "lora_unet_t_embedder_1_linear_1.lora_down.weight";
  QTest::newRow("adaln") << "diffusion_model.blocks.10.adaln_modulation.self_attn.1.alpha"
                         << "lora_unet_blocks_10_adaln_modulation_self_attn_1.alpha";
}

void TestAdapterNames::understandsTheWrongNamesOfTheReference() {
  QFETCH(QString, program);
  QFETCH(QString, file);
  QCOMPARE(text(small_names().from_image_program(program.toStdString())), file);
}

void TestAdapterNames::givesNothingForUnknownNames_data() {
  QTest::addColumn<QString>("key");
  for (const char* key :
       {"", "lora_unet_", "lora_unet_blocks_1_mlp_layer1.alpha", "lora_other_blocks_0_mlp_layer1.alpha",
        "diffusion_model.", "diffusion_model.blocks.1.mlp.layer1.alpha", "diffusion_model.alpha",
        "lora_te_blocks_0_mlp_layer1.alpha"}) {
    QTest::newRow(key) << key;
  }
}

void TestAdapterNames::givesNothingForUnknownNames() {
  QFETCH(QString, key);
  QCOMPARE(text(small_names().to_image_program(key.toStdString())), QString("unknown"));
  QCOMPARE(text(small_names().from_image_program(key.toStdString())), QString("unknown"));
}

void TestAdapterNames::refusesModulesThatFlattenToOneName() {
  const std::vector<std::string> modules = {"a.b_c", "a_b.c"};
  QVERIFY_EXCEPTION_THROWN((AdapterNames{modules, {}}), Error);
}

LATHE_TEST(TestAdapterNames);

// All modules of the models in their real size.
class TestGoldenAdapterNames : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void givesEveryModuleItsOwnNameAndFindsTheWayBack();
};

void TestGoldenAdapterNames::givesEveryModuleItsOwnNameAndFindsTheWayBack() {
  LATHE_NEEDS_GOLDEN("anima/full_size_names.json");
  QFile file(QString::fromStdString(to_utf8(golden_folder() / "anima" / "full_size_names.json")));
  QVERIFY(file.open(QIODevice::ReadOnly));
  const QJsonObject names = QJsonDocument::fromJson(file.readAll()).object();
  const auto modules_of = [&](const char* model) {
    std::vector<std::string> modules;
    for (const QJsonValue& entry : names[model].toArray()) {
      QString key = entry[0].toString();
      if (key.endsWith(".weight") && entry[1].toArray().size() == 2) modules.push_back(key.chopped(7).toStdString());
    }
    return modules;
  };
  const std::vector<std::string> transformer = modules_of("dit");
  const std::vector<std::string> text_encoder = modules_of("qwen3_0_6b");
  QVERIFY(transformer.size() > 400 && text_encoder.size() > 100);
  const AdapterNames adapter(transformer, text_encoder);
  const auto check = [&](const std::vector<std::string>& modules, const std::string& file_prefix,
                         const std::string& program_prefix) {
    for (const std::string& module : modules) {
      const QString key = QString::fromStdString(file_prefix + module).replace('.', '_') + ".lora_up.weight";
      const std::optional<std::string> program = adapter.to_image_program(key.toStdString());
      QCOMPARE(text(program), QString::fromStdString(program_prefix + module + ".lora_B.weight"));
      QCOMPARE(text(adapter.from_image_program(*program)), key);
    }
  };
  check(transformer, "lora_unet_", "diffusion_model.");
  check(text_encoder, "lora_te_", "text_encoders.qwen3_06b.transformer.model.");
}

LATHE_TEST(TestGoldenAdapterNames);
#include "adapter_names_test.moc"
