#include "core/train/checkpoint.h"

#include <ATen/ATen.h>

#include "core/base/error.h"
#include "core/io/safetensors.h"
#include "core/models/common/state_dict.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/test_main.h"

using namespace lathe;
using lathe::testing::TemporaryFolder;

class TestCheckpoint : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void castsEveryTensorAlphaToo();
  void keepsTypesWithoutAPrecision();
  void hashesWhatIsInTheFile();
  void triesAgainAndThenGivesUp();
  void succeedsOnARetry();
};

namespace {

models::NamedTensors adapter() {
  return {{"lora_unet_a.alpha", at::scalar_tensor(2, at::kLong)},
          {"lora_unet_a.lora_down.weight", at::arange(8, at::kFloat).view({2, 4}).requires_grad_(true)},
          {"lora_unet_a.lora_up.weight", at::ones({4, 2}).t().contiguous().t()}};
}

}  // namespace

void TestCheckpoint::castsEveryTensorAlphaToo() {
  const TemporaryFolder folder;
  const auto path = folder.path() / "a.safetensors";
  train::save_adapter(path, adapter(), {}, {.dtype = at::kBFloat16});
  const io::SafetensorsFile file(path);
  QCOMPARE(file.tensors().size(), adapter().size());
  for (const io::TensorInfo& info : file.tensors()) QCOMPARE(info.dtype, io::DType::BF16);
}

void TestCheckpoint::keepsTypesWithoutAPrecision() {
  const TemporaryFolder folder;
  const auto path = folder.path() / "a.safetensors";
  const train::SavedFile saved = train::save_adapter(path, adapter(), {{"ss_steps", "3"}}, {});
  const io::SafetensorsFile file(path);
  QCOMPARE(saved.bytes, std::filesystem::file_size(path));
  QCOMPARE(file.at("lora_unet_a.alpha").dtype, io::DType::I64);
  QCOMPARE(file.metadata().at("ss_steps"), std::string("3"));
  QVERIFY(at::equal(models::borrow(file, file.at("lora_unet_a.lora_down.weight")), adapter()[1].second));
}

void TestCheckpoint::hashesWhatIsInTheFile() {
  const TemporaryFolder folder;
  const auto path = folder.path() / "a.safetensors";
  train::save_adapter(path, adapter(), {}, {.dtype = at::kHalf});
  const io::SafetensorsFile file(path);
  std::vector<io::TensorToWrite> items;
  for (const io::TensorInfo& info : file.tensors())
    items.push_back({info.name, info.dtype, info.shape, file.bytes(info)});
  QCOMPARE(file.metadata().at("sshs_model_hash"), io::safetensors_data_hash(items));
  QCOMPARE(file.metadata().at("sshs_legacy_hash"), std::string("e3b0c442"));  // under 1 MiB
}

void TestCheckpoint::triesAgainAndThenGivesUp() {
  const TemporaryFolder folder;
  int told = 0;
  QVERIFY_EXCEPTION_THROWN(train::save_adapter(folder.path() / "missing" / "a.safetensors", adapter(), {},
                                               {.retries = 2, .retry_seconds = 0.0},
                                               [&](const std::string&, int attempt) { told = attempt; }),
                           Error);
  QCOMPARE(told, 2);
}

void TestCheckpoint::succeedsOnARetry() {
  const TemporaryFolder folder;
  const auto path = folder.path() / "late" / "a.safetensors";
  train::save_adapter(path, adapter(), {}, {.retries = 1, .retry_seconds = 0.0},
                      [&](const std::string&, int) { std::filesystem::create_directory(path.parent_path()); });
  QVERIFY(std::filesystem::exists(path));
}

LATHE_TEST(TestCheckpoint);
#include "checkpoint_test.moc"
