#include <algorithm>

#include "core/base/files.h"
#include "core/base/paths.h"
#include "core/io/safetensors.h"
#include "tests/support/golden.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/test_main.h"

using namespace lathe;
using namespace lathe::io;
using lathe::testing::TemporaryFolder;

namespace {

// The tensors of an opened file, to be written again.
std::vector<TensorToWrite> as_tensors_to_write(const SafetensorsFile& file) {
  std::vector<TensorToWrite> tensors;
  for (const TensorInfo& info : file.tensors())
    tensors.push_back({info.name, info.dtype, info.shape, file.bytes(info)});
  return tensors;
}

}  // namespace

// Files that the library wrote, found in the golden folder.
class TestGoldenSafetensors : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void writesTheSameDataSection_data();
  void writesTheSameDataSection();
  void writesTheSameFileWhereNoMetadataIsThere();
  void hashesTheAdapterAsItsMetadataSays();
};

void TestGoldenSafetensors::writesTheSameDataSection_data() {
  LATHE_NEEDS_GOLDEN("anima");
  QTest::addColumn<QString>("path");
  for (const auto& entry : std::filesystem::directory_iterator(lathe::testing::golden_folder() / "anima")) {
    if (entry.path().extension() != ".safetensors") continue;
    QTest::newRow(to_utf8(entry.path().filename()).c_str()) << QString::fromStdString(to_utf8(entry.path()));
  }
}

void TestGoldenSafetensors::writesTheSameDataSection() {
  QFETCH(QString, path);
  const SafetensorsFile original(from_utf8(path.toStdString()));
  QVERIFY(!original.tensors().empty());
  const TemporaryFolder folder;
  std::vector<TensorToWrite> tensors = as_tensors_to_write(original);
  std::ranges::reverse(tensors);
  write_safetensors(folder.path() / "again", tensors, original.metadata());

  const SafetensorsFile again(folder.path() / "again");
  QVERIFY(std::ranges::equal(again.data_section(), original.data_section()));
  QCOMPARE(again.metadata(), original.metadata());
  QCOMPARE(again.data_section().data() - again.mapping()->bytes().data(),
           original.data_section().data() - original.mapping()->bytes().data());
}

void TestGoldenSafetensors::writesTheSameFileWhereNoMetadataIsThere() {
  LATHE_NEEDS_GOLDEN("anima/dit_split_quirk.safetensors");
  const auto path = lathe::testing::golden_folder() / "anima" / "dit_split_quirk.safetensors";
  const SafetensorsFile original(path);
  QVERIFY(original.metadata().empty());
  const TemporaryFolder folder;
  write_safetensors(folder.path() / "again", as_tensors_to_write(original), {});
  QVERIFY(read_text(folder.path() / "again") == read_text(path));
}

void TestGoldenSafetensors::hashesTheAdapterAsItsMetadataSays() {
  LATHE_NEEDS_GOLDEN("anima/tiny_lora.safetensors");
  const SafetensorsFile file(lathe::testing::golden_folder() / "anima" / "tiny_lora.safetensors");
  const std::vector<TensorToWrite> tensors = as_tensors_to_write(file);
  QCOMPARE(safetensors_data_hash(tensors), file.metadata().at("sshs_model_hash"));
  QCOMPARE(safetensors_legacy_hash(tensors, file.metadata()), file.metadata().at("sshs_legacy_hash"));
}

LATHE_TEST(TestGoldenSafetensors);
#include "safetensors_golden_test.moc"
