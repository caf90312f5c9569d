#include "core/base/error.h"
#include "core/models/common/tensor_file.h"
#include "tests/core/models/adapters/lora_fixture.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/tensor_check.h"
#include "tests/support/test_main.h"

using namespace lathe::models;
using namespace lathe::testing;

class TestLoraFile : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void loadsWhatItSavedAndSaysWhatDoesNotFit();
  void aLoadedAlphaIsKeptButLeavesTheScale();
  void takesRanksAndAlphasFromAFile();
  void mergingGivesTheAdaptersResult();
};

namespace {
QString error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const lathe::Error& error) {
    return QString::fromUtf8(error.what());
  }
  return {};
}
}  // namespace

void TestLoraFile::loadsWhatItSavedAndSaysWhatDoesNotFit() {
  const lathe::testing::TemporaryFolder folder;
  const auto path = folder.path() / "lora.safetensors";
  LoraFixture model;
  NamedTensors saved;
  {
    LoraNetwork lora(model.linears(), "lora_unet", ranks_of(4, 2.0));
    randomise(lora);
    saved = lora.state();
  }
  write_tensors(path, saved, {});
  {
    LoraNetwork lora(model.linears(), "lora_unet", ranks_of(4, 2.0));
    const std::vector<at::Tensor> before = lora.parameters();
    QVERIFY(lora.load(path).empty());
    for (std::size_t i = 0; i < saved.size(); ++i) QVERIFY(at::equal(lora.state()[i].second, saved[i].second));
    for (std::size_t i = 0; i < before.size(); ++i) QVERIFY(lora.parameters()[i].is_same(before[i]));
  }
  saved.erase(saved.begin());
  saved.emplace_back("lora_unet_blocks_9_mlp_layer1.alpha", at::ones({}));
  write_tensors(path, saved, {});
  LoraNetwork lora(model.linears(), "lora_unet", ranks_of(4, 2.0));
  QCOMPARE(lora.load(path), (std::vector<std::string>{"missing: lora_unet_blocks_0_mlp_layer1.alpha",
                                                      "unexpected: lora_unet_blocks_9_mlp_layer1.alpha"}));
  LoraNetwork other(model.linears(), "lora_unet", ranks_of(3, 2.0));
  QVERIFY(error_of([&] { other.load(path); }).contains("has shape [4, 6], expected [3, 6]"));
}

void TestLoraFile::aLoadedAlphaIsKeptButLeavesTheScale() {
  const lathe::testing::TemporaryFolder folder;
  const auto path = folder.path() / "lora.safetensors";
  write_tensors(path, {{"lora_unet_blocks_0_mlp_layer1.alpha", at::full({1}, 8.0)}}, {});  // an old file's [1]
  LoraFixture model;
  LoraNetwork lora(model.linears(), "lora_unet", ranks_of(4, 2.0));
  lora.load(path);
  QCOMPARE(lora.modules()[0].scale, 0.5);
  QCOMPARE(lora.modules()[0].alpha, 8.0);
  QCOMPARE(lora.state()[0].second.item<float>(), 8.0f);
  QCOMPARE(lora.modules()[1].alpha, 2.0);
}

void TestLoraFile::takesRanksAndAlphasFromAFile() {
  const lathe::testing::TemporaryFolder folder;
  const auto path = folder.path() / "lora.safetensors";
  LoraFixture model;
  NamedTensors saved;
  {
    LoraOptions options = ranks_of(4, 2.0);
    options.train_llm_adapter = true;
    options.rank_by_pattern = {{".*layer2", 0}, {"llm_adapter.*", 3}};
    LoraNetwork lora(model.linears(), "lora_unet", options);
    randomise(lora);
    saved = lora.state();
  }
  write_tensors(path, saved, {});
  const auto lora = LoraNetwork::from_weights(model.linears(), "lora_unet", path);
  QCOMPARE(names_of(*lora), (std::vector<std::string>{"llm_adapter.blocks.0.mlp.0", "blocks.0.mlp.layer1"}));
  QCOMPARE(lora->modules()[0].rank, std::int64_t{3});
  QCOMPARE(lora->modules()[0].scale, 2.0 / 3.0);
  QCOMPARE(lora->state()[0].second.scalar_type(), at::kFloat);
  QVERIFY(!at::equal(lora->modules()[0].up, saved[2].second));  // not filled yet
  QVERIFY(lora->load(path).empty());
  QVERIFY(at::equal(lora->modules()[0].up, saved[2].second));

  saved.erase(saved.begin());
  write_tensors(path, saved, {});
  QVERIFY(error_of([&] { LoraNetwork::from_weights(model.linears(), "lora_unet", path); }).contains("has no alpha"));
}

void TestLoraFile::mergingGivesTheAdaptersResult() {
  const lathe::testing::TemporaryFolder folder;
  const auto path = folder.path() / "lora.safetensors";
  LoraFixture model;
  const at::Tensor x = at::randn({3, 6}), before = model.up.weight;
  at::Tensor expected;
  {
    LoraNetwork lora(model.linears(), "lora_unet", ranks_of(4, 2.0));
    randomise(lora);
    lora.set_multiplier(0.5);
    expected = model.up(x);
    NamedTensors saved = lora.state();
    saved.emplace_back("lora_unet_other.lora_up.weight", at::ones({2, 2}));
    write_tensors(path, saved, {});
  }
  QCOMPARE(merge_lora(model.linears(), "lora_unet", path, 0.5), std::vector<std::string>{"lora_unet_other"});
  QVERIFY(!at::equal(model.up.weight, before));
  LATHE_CLOSE(model.up(x), expected, 1e-6);

  model.up.weight = at::randn({7, 6});
  QVERIFY(error_of([&] { merge_lora(model.linears(), "lora_unet", path, 0.5); }).contains("shape [5, 6]"));
}

LATHE_TEST(TestLoraFile);
#include "lora_file_test.moc"
