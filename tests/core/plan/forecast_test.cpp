#include "core/plan/forecast.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/base/paths.h"
#include "core/io/npz.h"
#include "core/io/safetensors.h"
#include "core/plan/forecast_json.h"
#include "tests/support/dataset_on_disk.h"
#include "tests/support/test_main.h"

using namespace lathe;
using namespace lathe::plan;
using config::Source;
using lathe::testing::DatasetOnDisk;

namespace {

// A checkpoint with one block: two Linears of 64×64 and 256×64 that adapters take.
std::string write_model(const DatasetOnDisk& it) {
  const std::vector<std::byte> zeros(4 * 256 * 64);
  const auto tensor = [&](const char* name, std::int64_t out, std::int64_t in) {
    return io::TensorToWrite{
        name, io::DType::F32, {out, in}, std::span(zeros).first(static_cast<std::size_t>(out * in * 4))};
  };
  const std::vector<io::TensorToWrite> tensors = {tensor("net.x_embedder.proj.1.weight", 64, 68),
                                                  tensor("net.blocks.0.self_attn.q_proj.weight", 64, 64),
                                                  tensor("net.blocks.0.mlp.layer1.weight", 256, 64),
                                                  tensor("net.llm_adapter.blocks.0.cross_attn.k_proj.weight", 32, 48)};
  const auto path = it.folder.path() / "model.safetensors";
  io::write_safetensors(path, tensors, {});
  return to_utf8(path);
}

// Five images of two sizes, batches of 2, two accumulated.
void fill(DatasetOnDisk& it) {
  it.subset("a");
  for (int i = 0; i < 3; ++i) it.image("a/square" + std::to_string(i) + ".png", 64, 64, "x");
  for (int i = 0; i < 2; ++i) it.image("a/wide" + std::to_string(i) + ".png", 128, 32, "y");
  it.folder.write("a/broken.png", "no picture");
  it.settings.set("gradient_accumulation_steps", std::int64_t{2}, Source::command_line);
  it.settings.set("max_train_epochs", std::int64_t{3}, Source::command_line);
  it.settings.set("output_dir", to_utf8(it.folder.path() / "out"), Source::command_line);
  it.settings.set("output_name", std::string("a"), Source::command_line);
  it.settings.set("save_every_n_epochs", std::int64_t{1}, Source::command_line);
}

}  // namespace

class TestForecast : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void countsWhatARunWillDo();
  void droppedImagesAreNamed();
  void anImageThatAnotherDatasetUsesIsNotDropped();
  void adapterAndDiskFollowTheModel();
  void encodersCountWhereNothingIsCached();
  void latentCachesHaveTheForecastSize_data();
  void latentCachesHaveTheForecastSize();
  void textCachesHaveTheForecastSize();
  void existingCachesAreNotCounted();
  void keptAdaptersAreCounted();
  void tooLittleDiskIsAnError();
  void tooManyShapesAreAWarning();
  void lowCoverageIsAWarning();
  void anUnreadableModelIsSaid();
  void theJsonHoldsTheNumbers();
};

void TestForecast::countsWhatARunWillDo() {
  DatasetOnDisk it;
  fill(it);
  const Forecast forecast = make_forecast(it.settings, it.build(), it.findings);
  QCOMPARE(forecast.images, std::int64_t{5});
  QCOMPARE(forecast.items, std::int64_t{5});
  QCOMPARE(forecast.buckets.size(), std::size_t{2});
  QCOMPARE(forecast.length.batches_per_epoch, std::int64_t{3});
  QCOMPARE(forecast.length.steps, std::int64_t{6});
  QCOMPARE(forecast.length.epochs, std::int64_t{3});
  QCOMPARE(forecast.saves.size(), std::size_t{3});
  QCOMPARE(forecast.saves.back().adapter, std::string("a.safetensors"));
  QCOMPARE(forecast.shapes.size(), std::size_t{3});  // 2 and 1 squares, 2 wide ones
  QCOMPARE(forecast.compiles, std::int64_t{0});
}

void TestForecast::droppedImagesAreNamed() {
  DatasetOnDisk it;
  fill(it);
  const Forecast all = make_forecast(it.settings, it.build(), it.findings);
  QCOMPARE(all.dropped.size(), std::size_t{1});
  QCOMPARE(to_utf8(all.dropped[0].path.filename()), std::string("broken.png"));
  QCOMPARE(all.coverage, 5.0 / 6.0);

  it.dataset.batch_size = 3;
  it.settings.set("bucket_remainder", std::string("drop"), Source::command_line);
  const Forecast dropped = make_forecast(it.settings, it.build(), it.findings);
  QCOMPARE(dropped.images, std::int64_t{3});
  QCOMPARE(dropped.dropped.size(), std::size_t{3});
  QVERIFY(QString::fromStdString(dropped.dropped[0].reason.english()).contains("128x32"));
  QCOMPARE(dropped.coverage, 0.5);
}

void TestForecast::anImageThatAnotherDatasetUsesIsNotDropped() {
  DatasetOnDisk it;
  it.subset("a");
  it.image("a/1.png", 64, 64, "x");
  config::DatasetConfig four = it.dataset, one = it.dataset;
  four.batch_size = 4;
  one.batch_size = 1;
  it.settings.set("bucket_remainder", std::string("drop"), Source::command_line);
  PythonRandom random(1);
  const auto manifest = dataset::build_manifest({{four, one}, true}, it.settings, random, it.findings);
  const Forecast forecast = make_forecast(it.settings, manifest, it.findings);
  QVERIFY(forecast.dropped.empty());
  QCOMPARE(forecast.images, std::int64_t{1});
}

void TestForecast::adapterAndDiskFollowTheModel() {
  DatasetOnDisk it;
  fill(it);
  it.settings.set("pretrained_model_name_or_path", write_model(it), Source::command_line);
  const Forecast forecast = make_forecast(it.settings, it.build(), it.findings);
  QVERIFY(forecast.model);
  QCOMPARE(forecast.model->text_width, std::int64_t{48});
  QCOMPARE(forecast.adapter.modules, std::int64_t{2});
  QCOMPARE(forecast.adapter.parameters, std::int64_t{4 * (128 + 320)});
  QCOMPARE(forecast.output_bytes, 3 * forecast.adapter.file_bytes);
  QCOMPARE(forecast.memory_bytes, total(forecast.memory));
  QCOMPARE(forecast.disk.size(), std::size_t{1});
  QCOMPARE(forecast.disk[0].bytes, forecast.output_bytes);
  QVERIFY(forecast.disk[0].free > 0);
}

void TestForecast::encodersCountWhereNothingIsCached() {
  DatasetOnDisk it;
  fill(it);
  const std::string model = write_model(it);
  std::filesystem::create_directories(it.folder.path() / "encoder");
  std::filesystem::copy_file(from_utf8(model), it.folder.path() / "encoder" / "weights.safetensors");
  it.settings.set("pretrained_model_name_or_path", model, Source::command_line);
  it.settings.set("qwen3", to_utf8(it.folder.path() / "encoder"), Source::command_line);
  it.settings.set("vae", std::string("another kind.pth"), Source::command_line);  // left out
  const Forecast forecast = make_forecast(it.settings, it.build(), it.findings);
  QCOMPARE(forecast.memory.size(), std::size_t{5});
  QCOMPARE(forecast.memory.back().bytes, std::uint64_t{4 * (64 * 68 + 64 * 64 + 256 * 64 + 32 * 48)});
  it.settings.set("cache_text_encoder_outputs", true, Source::command_line);
  QCOMPARE(make_forecast(it.settings, it.build(), it.findings).memory.size(), std::size_t{4});
}

void TestForecast::latentCachesHaveTheForecastSize_data() {
  QTest::addColumn<bool>("flip");
  QTest::addColumn<bool>("mask");
  QTest::newRow("plain") << false << false;
  QTest::newRow("with both") << true << true;
}

// Against a file as it is really written.
void TestForecast::latentCachesHaveTheForecastSize() {
  QFETCH(bool, flip);
  QFETCH(bool, mask);
  DatasetOnDisk it;
  config::SubsetConfig& subset = it.subset("a");
  subset.flip_aug = flip;
  subset.alpha_mask = mask;
  it.image("a/1.png", 100, 70, "x");
  it.settings.set("cache_latents_to_disk", true, Source::command_line);
  const Forecast forecast = make_forecast(it.settings, it.build(), it.findings);
  QVERIFY(forecast.latents.on_disk);
  QCOMPARE(forecast.latents.to_make, std::int64_t{1});

  const std::vector<std::byte> zeros(1 << 16);
  const auto array = [&](const char* name, io::DType type, std::vector<std::int64_t> shape) {
    const auto bytes = static_cast<std::size_t>(*io::dense_bytes(type, shape));
    return io::TensorToWrite{name, type, std::move(shape), std::span(zeros).first(bytes)};
  };
  std::vector<io::TensorToWrite> arrays = {array("latents_6x10", io::DType::F32, {16, 6, 10}),
                                           array("original_size_6x10", io::DType::I64, {2}),
                                           array("crop_ltrb_6x10", io::DType::F64, {4})};
  if (flip) arrays.push_back(array("latents_flipped_6x10", io::DType::F32, {16, 6, 10}));
  if (mask) arrays.push_back(array("alpha_mask_6x10", io::DType::F32, {48, 80}));
  io::write_npz(it.folder.path() / "written.npz", arrays);
  const auto written = static_cast<std::int64_t>(std::filesystem::file_size(it.folder.path() / "written.npz"));
  const std::int64_t off = static_cast<std::int64_t>(forecast.latents.bytes_to_make) - written;
  QVERIFY2(off >= 0 && off < 100 * static_cast<std::int64_t>(arrays.size()), qPrintable(QString::number(off)));
}

void TestForecast::textCachesHaveTheForecastSize() {
  DatasetOnDisk it;
  fill(it);
  it.settings.set("cache_text_encoder_outputs_to_disk", true, Source::command_line);
  it.settings.set("qwen3_max_token_length", std::int64_t{8}, Source::command_line);
  it.settings.set("t5_max_token_length", std::int64_t{16}, Source::command_line);
  it.settings.set("pretrained_model_name_or_path", write_model(it), Source::command_line);
  const Forecast forecast = make_forecast(it.settings, it.build(), it.findings);
  QCOMPARE(forecast.texts.to_make, std::int64_t{5});
  const std::uint64_t arrays = 8 * 48 * 4 + 8 * 8 + 2 * 16 * 4 + 4;
  const std::uint64_t each = forecast.texts.bytes_to_make / 5;
  QVERIFY(each > arrays + 5 * 200 && each < arrays + 5 * 400);  // zip and NPY headers
}

void TestForecast::existingCachesAreNotCounted() {
  DatasetOnDisk it;
  fill(it);
  it.settings.set("cache_latents_to_disk", true, Source::command_line);
  it.settings.set("cache_text_encoder_outputs", true, Source::command_line);
  it.folder.write("a/square0_0064x0064_anima.npz", "");
  const Forecast forecast = make_forecast(it.settings, it.build(), it.findings);
  QCOMPARE(forecast.latents.entries, std::int64_t{5});
  QCOMPARE(forecast.latents.to_make, std::int64_t{4});
  QVERIFY(forecast.texts.wanted && !forecast.texts.on_disk);
  QCOMPARE(forecast.texts.to_make, std::int64_t{5});
  const auto caches = std::ranges::find(forecast.disk, it.folder.path() / "a", &DiskForecast::folder);
  QVERIFY(caches != forecast.disk.end());
  QVERIFY(caches->bytes == forecast.latents.bytes_to_make);  // text outputs stay in memory
}

void TestForecast::keptAdaptersAreCounted() {
  DatasetOnDisk it;
  fill(it);
  it.settings.set("max_train_epochs", std::int64_t{10}, Source::command_line);
  it.settings.set("save_last_n_epochs", std::int64_t{2}, Source::command_line);
  it.settings.set("pretrained_model_name_or_path", write_model(it), Source::command_line);
  const Forecast forecast = make_forecast(it.settings, it.build(), it.findings);
  QCOMPARE(forecast.saves.size(), std::size_t{10});
  QCOMPARE(forecast.output_bytes, 3 * forecast.adapter.file_bytes);  // two kept, and the new one
}

void TestForecast::tooLittleDiskIsAnError() {
  DatasetOnDisk it;
  fill(it);
  it.settings.set("pretrained_model_name_or_path", write_model(it), Source::command_line);
  it.settings.set("network_dim", std::int64_t{1} << 40, Source::command_line);
  make_forecast(it.settings, it.build(), it.findings);
  QVERIFY(it.findings.has_errors());
  QVERIFY(it.said("plan.disk").contains("are free there"));
}

void TestForecast::tooManyShapesAreAWarning() {
  DatasetOnDisk it;
  fill(it);
  it.settings.set("compile", true, Source::command_line);
  it.settings.set("compile_dynamic", std::string("false"), Source::command_line);
  it.settings.set("compile_cache_size_limit", std::int64_t{2}, Source::command_line);
  QCOMPARE(make_forecast(it.settings, it.build(), it.findings).compiles, std::int64_t{3});
  QVERIFY(it.said("plan.shapes").startsWith("3 shapes"));
}

void TestForecast::lowCoverageIsAWarning() {
  DatasetOnDisk it;
  fill(it);
  it.settings.set("coverage_threshold", 0.9, Source::command_line);
  make_forecast(it.settings, it.build(), it.findings);
  QVERIFY(it.said("plan.coverage").contains("5 of 6 images are used, 83.3 percent"));
  it.settings.set("coverage_threshold", 0.8, Source::command_line);
  make_forecast(it.settings, it.build(), it.findings);
  QVERIFY(it.said("plan.coverage").isEmpty());
}

void TestForecast::anUnreadableModelIsSaid() {
  DatasetOnDisk it;
  fill(it);
  it.settings.set("pretrained_model_name_or_path", std::string("nowhere.safetensors"), Source::command_line);
  const Forecast forecast = make_forecast(it.settings, it.build(), it.findings);
  QVERIFY(!forecast.model && forecast.memory.empty());
  QVERIFY(it.said("plan.model_unread").contains("nowhere.safetensors"));
}

void TestForecast::theJsonHoldsTheNumbers() {
  DatasetOnDisk it;
  fill(it);
  const Forecast forecast = make_forecast(it.settings, it.build(), it.findings);
  const auto json = nlohmann::json::parse(to_json(forecast, 1));
  QCOMPARE(json.at("data").at("images").get<int>(), 5);
  QCOMPARE(json.at("length").at("steps").get<int>(), 6);
  QCOMPARE(json.at("length").at("saves_count").get<int>(), 3);
  QCOMPARE(json.at("length").at("saves").size(), std::size_t{1});
  QCOMPARE(json.at("shapes").size(), std::size_t{3});
}

LATHE_TEST(TestForecast);
#include "forecast_test.moc"
