#include "core/train/metadata.h"

#include <nlohmann/json.hpp>

#include "core/base/hash.h"
#include "core/base/paths.h"
#include "core/train/metadata_datasets.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/test_main.h"

using namespace lathe;
using lathe::testing::TemporaryFolder;

class TestMetadata : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void hashesAModelFile();
  void namesWhatIsNoFile();
  void writesJsonAsPython();
  void countsFoldersOfOneNameApart();
};

void TestMetadata::hashesAModelFile() {
  const TemporaryFolder folder;
  std::string bytes(0x100000 + 0x20000, 'a');
  for (std::size_t i = 0x100000; i < 0x110000; ++i) bytes[i] = 'b';
  const auto path = folder.write("model ä.safetensors", bytes);
  const train::ModelFile file = train::describe_model_file(to_utf8(path));
  QCOMPARE(file.name, std::string("model ä.safetensors"));
  QCOMPARE(file.hash, sha256_hex(std::string(0x10000, 'b')).substr(0, 8));
  QCOMPARE(file.new_hash, sha256_hex(bytes));

  const auto small = folder.write("small", "abc");  // nothing at 1 MiB: the hash of nothing
  QCOMPARE(train::describe_model_file(to_utf8(small)).hash, std::string("e3b0c442"));
}

void TestMetadata::namesWhatIsNoFile() {
  const TemporaryFolder folder;
  const train::ModelFile absent = train::describe_model_file("some/model");
  QCOMPARE(absent.name, std::string("some/model"));
  QVERIFY(absent.hash.empty());
  QCOMPARE(train::describe_model_file(to_utf8(folder.path())).new_hash, std::string("IsADirectory"));
}

void TestMetadata::writesJsonAsPython() {
  nlohmann::ordered_json value = {{"z", {1, 2.0, 1e-6}}, {"a", nullptr}, {"ü😀\x7f", true}};
  QCOMPARE(train::python_json(value),
           std::string(R"({"z": [1, 2.0, 1e-06], "a": null, "\u00fc\ud83d\ude00\u007f": true})"));
  QCOMPARE(train::python_json(nlohmann::ordered_json::object()), std::string("{}"));
}

void TestMetadata::countsFoldersOfOneNameApart() {
  dataset::Manifest manifest;
  dataset::Dataset& data = manifest.training.emplace_back();
  for (const char* path : {"/a/cats", "/b/cats", "/reg"}) {
    config::SubsetConfig subset;
    subset.image_dir = path;
    subset.num_repeats = 2;
    subset.is_reg = std::string_view(path) == "/reg";
    data.config.subsets.push_back(subset);
    data.subset_images.push_back(5);
  }
  io::Metadata metadata;
  train::add_dataset_metadata(metadata, config::Settings(), manifest, true, 1);
  QCOMPARE(metadata["ss_dataset_dirs"], std::string(R"_({"cats": {"n_repeats": 2, "img_count": 5}, )_"
                                                    R"_("cats (2)": {"n_repeats": 2, "img_count": 5}})_"));
}

LATHE_TEST(TestMetadata);
#include "metadata_test.moc"
