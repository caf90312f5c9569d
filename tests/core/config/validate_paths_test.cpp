#include <filesystem>

#include "core/base/paths.h"
#include "core/config/validate.h"
#include "core/config/value_text.h"
#include "tests/core/config/compare.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/test_main.h"

using namespace lathe::config;
using lathe::testing::TemporaryFolder;

namespace {

using Pairs = std::vector<std::pair<std::string, std::string>>;

std::vector<Finding> findings_of(Pairs set, ValidateOptions options = {}) {
  set.emplace_back("network_train_unet_only", "true");
  set.emplace_back("network_module", "networks.lora_anima");
  Settings settings;
  apply(Fix{{}, set}, settings);
  Findings findings;
  validate(settings, {}, findings, options);
  return findings.all();
}

std::vector<std::string> errors(const Pairs& set, const ValidateOptions& options = {}) {
  std::vector<std::string> texts;
  for (const Finding& finding : findings_of(set, options)) {
    if (finding.severity == Severity::error) texts.push_back(finding.english());
  }
  return texts;
}

}  // namespace

class TestValidatePaths : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void whatIsRequiredDependsOnThePurpose();
  void outputNameIsNoPath_data();
  void outputNameIsNoPath();
  void missingFilesAreAllNamed();
  void foldersAndFilesAreToldApart();
  void outputsMustBeWritable();
  void theDiskMustHoldWhatIsSaved();
  void theDeviceMustExist();
};

void TestValidatePaths::whatIsRequiredDependsOnThePurpose() {
  const auto missing = [](Purpose purpose) { return errors({}, {.purpose = purpose}).size(); };
  QCOMPARE(
      errors({}).front(),
      std::string("pretrained_model_name_or_path is required and not given (help pretrained_model_name_or_path says "
                  "what it is)"));
  QCOMPARE(missing(Purpose::train), std::size_t{4});
  QCOMPARE(missing(Purpose::cache), std::size_t{3});
  QCOMPARE(missing(Purpose::sample), std::size_t{5});
  QCOMPARE(missing(Purpose::plan), std::size_t{0});
}

void TestValidatePaths::outputNameIsNoPath_data() {
  QTest::addColumn<QString>("name");
  QTest::addColumn<bool>("refused");
  QTest::newRow("plain") << "my adapter 猫" << false;
  QTest::newRow("folder") << "a/b" << true;
  QTest::newRow("outside") << "../../x" << true;
  QTest::newRow("parent") << ".." << true;
  QTest::newRow("drive") << "C:x" << true;
  QTest::newRow("line end") << "a\nb" << true;
}

void TestValidatePaths::outputNameIsNoPath() {
  QFETCH(QString, name);
  QFETCH(bool, refused);
  const auto found = errors({{"output_name", name.toStdString()}}, {.purpose = Purpose::plan});
  QCOMPARE(!found.empty(), refused);
}

void TestValidatePaths::missingFilesAreAllNamed() {
  const TemporaryFolder folder;
  const std::string here = lathe::to_utf8(folder.path());
  folder.write("anima.safetensors", "");
  folder.write("vae.safetensors", "");
  QCOMPARE(errors({{"pretrained_model_name_or_path", here + "/amina.safetensors"},
                   {"qwen3", here + "/models/qwen3"},
                   {"vae", here + "/vae.safetensors"},
                   {"sample_prompts", here + "/x\ty"},
                   {"t5_tokenizer_path", here + "/t5"},
                   {"output_dir", here + "/out/run"}}),
           (std::vector<std::string>{
               "pretrained_model_name_or_path: there is no file " + here + "/amina.safetensors; did you mean " + here +
                   "/anima.safetensors?",
               "qwen3: there is no file " + here + "/models/qwen3, since " + here + "/models is not there",
               "t5_tokenizer_path: there is no folder " + here + "/t5",
               "sample_prompts holds a TAB: \"" + here +
                   "/x\\x09y\"; a backslash begins an escape inside \"…\": write '…', \"\\\\\" or '/'"}));
  QVERIFY(!std::filesystem::exists(folder.path() / "out"));  // nothing is created
}

void TestValidatePaths::foldersAndFilesAreToldApart() {
  const TemporaryFolder folder;
  const std::string here = lathe::to_utf8(folder.path());
  folder.write("vae/weights.safetensors", "");
  folder.write("qwen/model.safetensors", "");
  const ValidateOptions plan{.purpose = Purpose::plan};
  QVERIFY(errors({{"qwen3", here + "/qwen"}}, plan).empty());
  const std::vector<Finding> findings = findings_of({{"vae", here + "/vae"}}, plan);
  QCOMPARE(findings.size(), std::size_t{1});
  QCOMPARE(findings[0].english(), "vae must be a file, and " + here + "/vae is a folder");
  QVERIFY(findings[0].fixes.at(0).set.at(0) == std::pair(std::string("vae"), here + "/vae/weights.safetensors"));
  QCOMPARE(errors({{"t5_tokenizer_path", here + "/qwen/model.safetensors"}}, plan),
           std::vector<std::string>{"t5_tokenizer_path must be a folder, and " + here +
                                    "/qwen/model.safetensors is a file"});
}

void TestValidatePaths::outputsMustBeWritable() {
  const TemporaryFolder folder;
  const std::string here = lathe::to_utf8(folder.path());
  folder.write("file", "");
  const ValidateOptions plan{.purpose = Purpose::plan};
  QVERIFY(errors({{"output_dir", here + "/a/b/c"}, {"logging_dir", here}}, plan).empty());
  QCOMPARE(errors({{"output_dir", here + "/file"}}, plan),
           std::vector<std::string>{"output_dir must be a folder, and " + here + "/file is a file"});
  QCOMPARE(errors({{"output_dir", here + "/a\nb"}}, plan).size(), std::size_t{1});
  QCOMPARE(errors({{"output_dir", "/proc/no/such"}}, plan).size(), std::size_t{1});
}

void TestValidatePaths::theDiskMustHoldWhatIsSaved() {
  const TemporaryFolder folder;
  Settings settings;
  settings.set("output_dir", lathe::to_utf8(folder.path() / "new"), Source::file);
  const auto said = [&](std::uint64_t bytes) {
    Findings findings;
    check_disk_space(settings, bytes, findings);
    return findings.all().size();
  };
  QCOMPARE(said(1), std::size_t{0});
  QCOMPARE(said(1ull << 62), std::size_t{1});
  Findings findings;
  check_disk_space(settings, 1ull << 62, findings);
  QVERIFY(findings.has_errors());
  QVERIFY(findings.all()[0].english().starts_with("the run will write 4194304.0 TiB to "));
}

void TestValidatePaths::theDeviceMustExist() {
  const auto with_cards = [](int cards) { return ValidateOptions{.purpose = Purpose::plan, .cards = cards}; };
  QCOMPARE(errors({}, with_cards(0)).size(), std::size_t{1});
  QCOMPARE(errors({{"device", "cuda"}}, with_cards(0)).size(), std::size_t{1});
  QVERIFY(errors({{"device", "cpu"}}, with_cards(0)).empty());
  QVERIFY(errors({}, with_cards(1)).empty());
  QVERIFY(errors({{"device", "cuda:1"}}, with_cards(2)).empty());
  QCOMPARE(errors({{"device", "cuda:2"}}, with_cards(2)),
           std::vector<std::string>{"device is cuda:2, and there are 2 graphics cards, counted from 0"});
  QVERIFY(findings_of({}, with_cards(0))[0].fixes.at(0).set.at(0) ==
          std::pair(std::string("device"), std::string("cpu")));
}

LATHE_TEST(TestValidatePaths);
#include "validate_paths_test.moc"
