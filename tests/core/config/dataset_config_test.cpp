#include "core/config/dataset_config.h"

#include <algorithm>

#include "core/base/files.h"
#include "core/config/dataset_keys.h"
#include "tests/core/config/dataset_reading.h"
#include "tests/support/golden.h"
#include "tests/support/test_main.h"

using namespace lathe::config;
using namespace lathe::config::testing;

namespace {

// A dataset of one kind with `line` at one level; the key is left out of what stands there anyway.
std::string file_with(char level, char kind, const std::string& key, const std::string& line) {
  const auto own = [&](char here) { return level == here ? line + "\n" : std::string(); };
  const auto standard = [&](const std::string& name, const std::string& value) {
    return level == 'S' && key == name ? std::string() : name + " = " + value + "\n";
  };
  std::string text = "[general]\n" + own('G') + "[[datasets]]\n" + own('D');
  if (key != "resolution") text += "resolution = 512\n";
  text += "[[datasets.subsets]]\n" + own('S') + standard("image_dir", "\"a\"");
  if (kind == 'm') text += standard("metadata_file", "\"m.json\"");
  if (kind == 'c') text += standard("conditioning_data_dir", "\"c\"");
  return text;
}

std::vector<std::vector<std::string>> documented_keys() {
  std::vector<std::vector<std::string>> rows;
  const std::string text = lathe::read_text(lathe::testing::data_folder() / "config/dataset_keys.txt");
  for (const QString& line : QString::fromStdString(text).split('\n')) {
    if (line.isEmpty() || line.startsWith('#')) continue;
    std::vector<std::string> cells;
    for (const QString& cell : line.split('\t')) cells.push_back(cell.toStdString());
    rows.push_back(cells);
  }
  return rows;
}

}  // namespace

class TestDatasetConfig : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void everyDocumentedKeyIsRead_data();
  void everyDocumentedKeyIsRead();
  void theTableHoldsNothingElse();
  void theInnermostValueWins();
  void optionsStandBelowTheFile();
  void jsonIsTheSame();
  void kindsAreToldApart();
  void duplicatesAndZeroRepeatsAreLeftOut();
  void theFileWinsOverFolders();
};

void TestDatasetConfig::everyDocumentedKeyIsRead_data() {
  QTest::addColumn<QString>("key");
  QTest::addColumn<QString>("level");
  QTest::addColumn<QString>("kind");
  QTest::addColumn<QString>("value");
  for (const auto& row : documented_keys()) {
    for (const char level : row[1]) {
      for (const char kind : row[2]) {
        QTest::addRow("%s %c %c", row[0].c_str(), level, kind)
            << QString::fromStdString(row[0]) << QString(QChar(level)) << QString(QChar(kind))
            << QString::fromStdString(row[3]);
      }
    }
  }
}

void TestDatasetConfig::everyDocumentedKeyIsRead() {
  QFETCH(QString, key);
  QFETCH(QString, level);
  QFETCH(QString, kind);
  QFETCH(QString, value);
  const Settings settings = with({{"masked_loss", kind == "c" ? "true" : "false"}});
  const std::string name = key.toStdString();
  const auto file = [&](const QString& line) {
    return file_with(level[0].toLatin1(), kind[0].toLatin1(), name, line.toStdString());
  };
  const Read made = read_file(file(key + " = " + value), settings);
  QCOMPARE(made.said(Severity::error), std::vector<std::string>());
  QCOMPARE(made.config.datasets.size(), std::size_t{1});
  if (key == "custom_attributes") {  // nothing reads them
    QCOMPARE(made.said(Severity::note).size(), std::size_t{1});
    return;
  }
  const bool required = name == "image_dir" || name == "metadata_file" || name == "conditioning_data_dir";
  const Read without = read_file(required ? file(key + " = 'x'") : file(""), settings);
  QVERIFY(describe(made.config.datasets[0]) !=
          (without.config.datasets.empty() ? "" : describe(without.config.datasets[0])));
}

void TestDatasetConfig::theTableHoldsNothingElse() {
  std::vector<std::string> documented, known;
  for (const auto& row : documented_keys()) documented.push_back(row[0]);
  for (const DatasetKey& row : dataset_keys()) {
    known.emplace_back(row.name);
    QVERIFY(row.help.pattern.ends_with('.'));
  }
  std::sort(documented.begin(), documented.end());
  std::sort(known.begin(), known.end());
  QCOMPARE(known, documented);
}

void TestDatasetConfig::theInnermostValueWins() {
  const Read made = read_file(R"(
[general]
keep_tokens = 1
shuffle_caption = true
caption_prefix = "g"
batch_size = 2
[[datasets]]
resolution = 512
keep_tokens = 2
caption_prefix = ""
  [[datasets.subsets]]
  image_dir = "a"
  keep_tokens = 3
  shuffle_caption = false
  [[datasets.subsets]]
  image_dir = "b"
[[datasets]]
resolution = [640, 512]
batch_size = 5
  [[datasets.subsets]]
  image_dir = "a"
)");
  QCOMPARE(made.said(Severity::error), std::vector<std::string>());
  QVERIFY(made.config.from_file);
  const auto& datasets = made.config.datasets;
  QCOMPARE(datasets.size(), std::size_t{2});
  QCOMPARE(datasets[0].subsets[0].keep_tokens, std::int64_t{3});
  QVERIFY(!datasets[0].subsets[0].shuffle_caption);
  QCOMPARE(datasets[0].subsets[1].keep_tokens, std::int64_t{2});
  QVERIFY(datasets[0].subsets[1].shuffle_caption);
  QCOMPARE(*datasets[0].subsets[1].caption_prefix, std::string());
  QCOMPARE(datasets[1].subsets[0].keep_tokens, std::int64_t{1});
  QCOMPARE(*datasets[1].subsets[0].caption_prefix, std::string("g"));
  QCOMPARE(datasets[0].batch_size, std::int64_t{2});
  QCOMPARE(datasets[1].batch_size, std::int64_t{5});
  QCOMPARE(datasets[0].width, 512);
  QCOMPARE(datasets[1].width, 640);
  QCOMPARE(datasets[1].height, 512);
}

void TestDatasetConfig::optionsStandBelowTheFile() {
  const Settings settings = with({{"train_batch_size", "4"},
                                  {"dataset_repeats", "3"},
                                  {"resolution", "768, 512"},
                                  {"caption_extention", "txt"},
                                  {"face_crop_aug_range", "1,2.5"},
                                  {"flip_aug", "true"},
                                  {"alpha_mask", "true"},
                                  {"validation_split", "0.5"}});
  const Read made = read_file(
      "[[datasets]]\n[[datasets.subsets]]\nimage_dir = 'a'\n"
      "[[datasets.subsets]]\nimage_dir = 'b'\nnum_repeats = 1\nflip_aug = false\n",
      settings);
  QCOMPARE(made.said(Severity::error), std::vector<std::string>());
  const DatasetConfig& dataset = made.config.datasets.at(0);
  QCOMPARE(dataset.batch_size, std::int64_t{4});
  QCOMPARE(dataset.width, 768);
  QCOMPARE(dataset.height, 512);
  QCOMPARE(dataset.validation_split, 0.5);
  QCOMPARE(dataset.subsets[0].num_repeats, std::int64_t{3});
  QCOMPARE(dataset.subsets[0].caption_extension, std::string(".txt"));
  QVERIFY(dataset.subsets[0].face_crop_aug_range == std::pair(1.0, 2.5));
  QVERIFY(dataset.subsets[0].flip_aug && dataset.subsets[0].alpha_mask);
  QCOMPARE(dataset.subsets[1].num_repeats, std::int64_t{1});
  QVERIFY(!dataset.subsets[1].flip_aug);

  QCOMPARE(read_file("[[datasets]]\n[[datasets.subsets]]\nimage_dir = 'a'\n",
                     with({{"resolution", "1,2,3"}, {"face_crop_aug_range", "3,1"}}))
               .said(Severity::error),
           (std::vector<std::string>{
               "resolution must be \"1024\" or \"width,height\" in pixels, not '1,2,3'",
               "face_crop_aug_range must be two numbers \"low,high\" with low at most high, not '3,1'"}));
}

void TestDatasetConfig::jsonIsTheSame() {
  const Read toml = read_file(
      "[general]\nkeep_tokens = 1\n[[datasets]]\nresolution = [512, 640]\nvalidation_split = 0.5\n"
      "[[datasets.subsets]]\nimage_dir = 'é'\nis_reg = true\n");
  const Read json = read_file(R"({"general": {"keep_tokens": 1}, "datasets": [{"resolution": [512, 640],
    "validation_split": 0.5, "subsets": [{"image_dir": "é", "is_reg": true}]}]})",
                              {}, "D.JSON");
  QCOMPARE(json.said(Severity::error), std::vector<std::string>());
  QCOMPARE(describe(json.config.datasets.at(0)), describe(toml.config.datasets.at(0)));
  QCOMPARE(read_file("{\n\"datasets\": [\n{\"resolution\": null,\n\"subsets\": [{\"image_dir\": 3}]}]}", {}, "d.json")
               .said(Severity::error),
           (std::vector<std::string>{"@:3: resolution must be a whole number or [width, height], not null",
                                     "@:4: image_dir must be a path, not a whole number"}));
  QCOMPARE(read_file("[]", {}, "d.json").said(Severity::error),
           std::vector<std::string>{"@:1: the file must be an object, not a list"});
}

void TestDatasetConfig::kindsAreToldApart() {
  const std::string both =
      "[[datasets]]\nresolution = 512\n[[datasets.subsets]]\nimage_dir = 'a'\n"
      "[[datasets.subsets]]\nmetadata_file = 'm.json'\n";
  QCOMPARE(read_file(both).said(Severity::error),
           std::vector<std::string>{
               "@:1: the subsets of one dataset must be of one kind: either all have metadata_file or none has"});
  const std::string metadata =
      "[general]\nclass_tokens = 'x'\n[[datasets]]\nresolution = 512\n"
      "[[datasets.subsets]]\nmetadata_file = 'm.json'\n";
  QVERIFY(read_file(metadata).config.datasets.at(0).kind == DatasetKind::metadata);
  QCOMPARE(read_file("[[datasets]]\nresolution = 512\nclass_tokens = 'x'\n[[datasets.subsets]]\n"
                     "metadata_file = 'm.json'\nis_reg = true\n")
               .said(Severity::error),
           (std::vector<std::string>{"@:3: 'class_tokens' has no meaning here: these images are given by metadata_file",
                                     "@:6: 'is_reg' has no meaning here: these images are given by metadata_file"}));
  const std::string masked =
      "[[datasets]]\nresolution = 512\n[[datasets.subsets]]\nimage_dir = 'a'\n"
      "conditioning_data_dir = 'm'\n";
  QVERIFY(read_file(masked, with({{"masked_loss", "true"}})).config.datasets.at(0).kind == DatasetKind::masked);
  const Read refused = read_file(masked);
  QCOMPARE(refused.said(Severity::error),
           std::vector<std::string>{"@:5: conditioning_data_dir (mask images) needs masked_loss"});
  QVERIFY(refused.findings[0].fixes.at(0).set.at(0) == std::pair(std::string("masked_loss"), std::string("true")));
  QCOMPARE(read_file(masked + "random_crop = true\n", with({{"masked_loss", "true"}})).said(Severity::error),
           std::vector<std::string>{"@:1: random_crop cannot be used together with mask images"});
}

void TestDatasetConfig::duplicatesAndZeroRepeatsAreLeftOut() {
  const Read made = read_file(
      "[[datasets]]\nresolution = 512\n[[datasets.subsets]]\nimage_dir = 'a'\n"
      "[[datasets.subsets]]\nimage_dir = 'a'\n[[datasets.subsets]]\nimage_dir = 'b'\n"
      "num_repeats = 0\n[[datasets]]\nresolution = 256\n[[datasets.subsets]]\nimage_dir = 'a'\n");
  QCOMPARE(made.said(Severity::warning),
           (std::vector<std::string>{"@:6: the subset a stands twice in this dataset; the later one is left out",
                                     "@:9: the subset b is left out: num_repeats is 0, it must be at least 1"}));
  QCOMPARE(made.config.datasets.at(0).subsets.size(), std::size_t{1});
  QCOMPARE(made.config.datasets.at(1).subsets.size(), std::size_t{1});
}

void TestDatasetConfig::theFileWinsOverFolders() {
  const Read made = read_file("[[datasets]]\nresolution = 512\n[[datasets.subsets]]\nimage_dir = 'a'\n",
                              with({{"train_data_dir", "t"}, {"reg_data_dir", "r"}, {"in_json", "j"}}));
  QCOMPARE(made.said(Severity::warning),
           (std::vector<std::string>{"train_data_dir is ignored because dataset_config is given",
                                     "reg_data_dir is ignored because dataset_config is given",
                                     "in_json is ignored because dataset_config is given"}));
}

LATHE_TEST(TestDatasetConfig);
#include "dataset_config_test.moc"
