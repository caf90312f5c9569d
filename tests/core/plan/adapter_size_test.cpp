#include "core/plan/adapter_size.h"

#include "core/plan/memory_estimate.h"
#include "tests/support/test_main.h"

using namespace lathe;
using namespace lathe::plan;

namespace {

const std::vector<DitTensor> kTwoBlocks = {
    {"x_embedder.proj.1.weight", {64, 68}},
    {"blocks.0.self_attn.q_proj.weight", {64, 64}},
    {"blocks.0.self_attn.q_norm.weight", {16}},
    {"blocks.0.cross_attn.k_proj.weight", {64, 32}},
    {"blocks.0.adaln_modulation_mlp.1.weight", {16, 64}},
    {"blocks.0.mlp.layer1.weight", {256, 64}},
    {"blocks.1.mlp.layer1.weight", {256, 64}},
    {"final_layer.linear.weight", {64, 64}},
};

// The network whose memory was measured, and its adapter of rank 16.
constexpr DitShape kMeasured{2'091'068'928, 2048, 28, 8192, 1024};
constexpr AdapterSize kRank16{280, 22'937'600, 0, 22'937'600 * 4};
constexpr LargestBatch kBatch4{4 * 64 * 64, 4};  // 1024², 4 images

double gib(std::uint64_t bytes) {
  return static_cast<double>(bytes) / (1 << 30);
}

}  // namespace

class TestAdapterSize : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void takesTheLinearsOfBlocks();
  void saysWhatANumberIsMadeOf();
  void memoryIsNearTheMeasuredOne_data();
  void memoryIsNearTheMeasuredOne();
  void optimizersKeepTheirState_data();
  void optimizersKeepTheirState();
};

void TestAdapterSize::takesTheLinearsOfBlocks() {
  config::Settings settings;
  settings.set("network_dim", std::int64_t{2}, config::Source::command_line);
  const AdapterSize size = adapter_size(kTwoBlocks, settings);
  QCOMPARE(size.modules, std::int64_t{4});
  QCOMPARE(size.parameters, std::int64_t{2 * (128 + 96 + 320 + 320)});
  QCOMPARE(size.memory_bytes, std::uint64_t{4 * 2 * 864});
  settings.set("save_precision", std::string("bf16"), config::Source::command_line);
  const AdapterSize half = adapter_size(kTwoBlocks, settings);
  QCOMPARE(size.file_bytes - half.file_bytes, std::uint64_t{2 * (2 * 864 + 4)});  // parameters and alphas

  const DitShape shape = dit_shape(kTwoBlocks);
  QCOMPARE(shape.blocks, std::int64_t{2});
  QCOMPARE(shape.width, std::int64_t{64});
  QCOMPARE(shape.mlp_width, std::int64_t{256});
  QCOMPARE(shape.text_width, std::int64_t{32});
}

void TestAdapterSize::saysWhatANumberIsMadeOf() {
  const auto parts = memory_estimate(kMeasured, kRank16, kBatch4, config::Settings());
  QCOMPARE(parts.size(), std::size_t{4});
  for (const MemoryPart& part : parts) {
    QVERIFY(part.bytes > 0);
    QVERIFY(!part.name.english().empty() && !part.formula.english().empty());
  }
  QCOMPARE(parts[0].bytes, std::uint64_t{2'091'068'928} * 4);
  QVERIFY(QString::fromStdString(parts[0].formula.english()).contains("2091068928"));
}

void TestAdapterSize::memoryIsNearTheMeasuredOne_data() {
  QTest::addColumn<bool>("checkpointing");
  QTest::addColumn<double>("measured");
  QTest::newRow("checkpointing") << true << 8.6;
  QTest::newRow("all kept") << false << 63.6;
}

void TestAdapterSize::memoryIsNearTheMeasuredOne() {
  QFETCH(bool, checkpointing);
  QFETCH(double, measured);
  config::Settings settings;
  settings.set("mixed_precision", std::string("bf16"), config::Source::command_line);
  settings.set("gradient_checkpointing", checkpointing, config::Source::command_line);
  const double estimate = gib(total(memory_estimate(kMeasured, kRank16, kBatch4, settings)));
  QVERIFY2(std::abs(estimate - measured) < 0.05 * measured, qPrintable(QString::number(estimate)));
}

void TestAdapterSize::optimizersKeepTheirState_data() {
  QTest::addColumn<QString>("name");
  QTest::addColumn<double>("bytes");
  QTest::newRow("default") << "" << 8.0;
  QTest::newRow("AdamW") << "AdamW" << 8.0;
  QTest::newRow("8 bit") << "AdamW8bit" << 2.0;
  QTest::newRow("Lion") << "Lion" << 4.0;
  QTest::newRow("Prodigy") << "prodigy" << 16.0;
}

void TestAdapterSize::optimizersKeepTheirState() {
  QFETCH(QString, name);
  config::Settings settings;
  settings.set("optimizer_type", name.toStdString(), config::Source::command_line);
  QTEST(optimizer_bytes_per_parameter(settings), "bytes");
}

LATHE_TEST(TestAdapterSize);
#include "adapter_size_test.moc"
