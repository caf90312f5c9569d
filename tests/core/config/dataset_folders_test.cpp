#include "core/base/paths.h"
#include "core/config/dataset_config.h"
#include "core/config/value_text.h"
#include "tests/core/config/compare.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/test_main.h"

using namespace lathe::config;
using lathe::testing::TemporaryFolder;

namespace {

struct Read {
  DataConfig config;
  std::vector<Finding> findings;

  std::vector<std::string> said(Severity severity) const {
    std::vector<std::string> texts;
    for (const Finding& finding : findings) {
      if (finding.severity == severity) texts.push_back(finding.english());
    }
    return texts;
  }
  const std::vector<SubsetConfig>& subsets() const { return config.datasets.at(0).subsets; }
};

Read read(std::vector<std::pair<std::string, std::string>> set) {
  Settings settings;
  set.emplace_back("resolution", "512");
  apply(Fix{{}, set}, settings);
  Findings findings;
  Read made{read_data_config(settings, findings), {}};
  made.findings = findings.all();
  return made;
}

}  // namespace

class TestDatasetFolders : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void readsNumberedSubfolders();
  void aFolderOfImagesIsRecognised();
  void aSubfolderWithoutANumberIsNamed();
  void imagesOneLevelTooDeepAreFound();
  void missingFoldersAreErrors();
  void readsMetadata();
};

void TestDatasetFolders::readsNumberedSubfolders() {
  const TemporaryFolder folder;
  for (const char* name : {"train/10_a_cat/1.png", "train/2/x.jpg", "train/0_no/x.png", "train/-1_no/x.png",
                           "train/notes.txt", "reg/1_cat/r.png"}) {
    folder.write(name, "");
  }
  const std::string here = lathe::to_utf8(folder.path());
  const Read made = read({{"train_data_dir", here + "/train"}, {"reg_data_dir", here + "/reg"}});
  QVERIFY(!made.config.from_file);
  QCOMPARE(made.subsets().size(), std::size_t{3});
  QCOMPARE(made.subsets()[0].image_dir, here + "/train/10_a_cat");
  QCOMPARE(made.subsets()[0].num_repeats, std::int64_t{10});
  QCOMPARE(*made.subsets()[0].class_tokens, std::string("a_cat"));
  QVERIFY(!made.subsets()[0].is_reg);
  QCOMPARE(made.subsets()[1].num_repeats, std::int64_t{2});
  QCOMPARE(*made.subsets()[1].class_tokens, std::string());
  QVERIFY(made.subsets()[2].is_reg);
  QCOMPARE(made.said(Severity::warning),
           (std::vector<std::string>{"train_data_dir: the subfolder -1_no is not used: its number of repeats is -1",
                                     "train_data_dir: the subfolder 0_no is not used: its number of repeats is 0"}));
}

void TestDatasetFolders::aFolderOfImagesIsRecognised() {
  const TemporaryFolder folder;
  for (const char* name : {"3_cat/1.png", "3_cat/2.PNG", "3_cat/.hidden.png", "3_cat/2.txt"}) folder.write(name, "");
  const std::string here = lathe::to_utf8(folder.path());
  for (const std::string& leaf : {here + "/3_cat", here + "/3_cat/"}) {
    const Read made = read({{"train_data_dir", leaf}});
    QVERIFY(made.subsets().empty());
    QCOMPARE(made.said(Severity::warning).size(), std::size_t{1});
    QVERIFY(made.said(Severity::warning)[0].starts_with("train_data_dir: 2 images lie directly in " + leaf));
    const auto& fixes = made.findings[0].fixes;
    QVERIFY(fixes.at(0).set.at(0) == std::pair(std::string("train_data_dir"), here));
    const Read parent = read({fixes[0].set[0]});
    QCOMPARE(parent.subsets().at(0).num_repeats, std::int64_t{3});
    const Read once = read({{"train_data_dir", leaf}, fixes.at(1).set.at(0)});
    QCOMPARE(once.subsets().size(), std::size_t{1});
    QCOMPARE(once.subsets()[0].num_repeats, std::int64_t{1});
    QVERIFY(once.said(Severity::warning).empty());
  }
}

void TestDatasetFolders::aSubfolderWithoutANumberIsNamed() {
  const TemporaryFolder folder;
  for (const char* name : {"1_a/1.png", "CROP/1.png", "CROP/2.webp", "empty/notes.txt", "top.png"})
    folder.write(name, "");
  const std::string here = lathe::to_utf8(folder.path());
  const Read made = read({{"train_data_dir", here}});
  QCOMPARE(made.subsets().size(), std::size_t{1});
  QCOMPARE(
      made.said(Severity::warning),
      (std::vector<std::string>{
          "train_data_dir: the subfolder CROP (2 images) is not used, as in the reference: its name has no number of "
          "repeats in front, like 1_CROP",
          "train_data_dir: 1 images lie directly in " + here +
              " and are not used; only those in subfolders named N_name are"}));
  const Read once = read({{"train_data_dir", here}, made.findings[0].fixes.at(0).set.at(0)});
  QCOMPARE(once.subsets().size(), std::size_t{3});
  QCOMPARE(*once.subsets()[1].class_tokens, std::string("CROP"));
}

void TestDatasetFolders::imagesOneLevelTooDeepAreFound() {
  const TemporaryFolder folder;
  for (const char* name : {"data/5_a/1.png", "data/5_a/2.png", "data/6_b/3.png"}) folder.write(name, "");
  const std::string here = lathe::to_utf8(folder.path());
  QCOMPARE(read({{"train_data_dir", here}}).said(Severity::warning),
           std::vector<std::string>{"train_data_dir: no images in " + here + "; 3 in its subfolder data"});
  const TemporaryFolder empty;
  QCOMPARE(read({{"train_data_dir", lathe::to_utf8(empty.path())}}).said(Severity::warning).size(), std::size_t{1});
}

void TestDatasetFolders::missingFoldersAreErrors() {
  const TemporaryFolder folder;
  folder.write("images/1_a/x.png", "");
  const std::string here = lathe::to_utf8(folder.path());
  QCOMPARE(read({{"train_data_dir", here + "/imagse"}}).said(Severity::error),
           std::vector<std::string>{"train_data_dir: there is no folder " + here + "/imagse; did you mean " + here +
                                    "/images?"});
  QVERIFY(read({{"train_data_dir", "data\train"}}).said(Severity::error).at(0).find("it holds a TAB") !=
          std::string::npos);
}

void TestDatasetFolders::readsMetadata() {
  const TemporaryFolder folder;
  const std::string here = lathe::to_utf8(folder.path());
  folder.write("m.json", "{}");
  const Read made = read({{"in_json", here + "/m.json"}, {"train_data_dir", here}, {"dataset_repeats", "2"}});
  QVERIFY(made.findings.empty());
  QVERIFY(made.config.datasets.at(0).kind == DatasetKind::metadata);
  QCOMPARE(made.subsets().at(0).metadata_file, here + "/m.json");
  QCOMPARE(made.subsets()[0].image_dir, here);
  QCOMPARE(made.subsets()[0].num_repeats, std::int64_t{2});
  QCOMPARE(read({{"in_json", here + "/n.json"}}).said(Severity::error).size(), std::size_t{1});
}

LATHE_TEST(TestDatasetFolders);
#include "dataset_folders_test.moc"
