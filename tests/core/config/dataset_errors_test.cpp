#include "tests/core/config/dataset_reading.h"
#include "tests/support/test_main.h"

using namespace lathe::config;
using namespace lathe::config::testing;

// What is said about a dataset file that is wrong.
class TestDatasetErrors : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void fiveWrongKeysAreOneReport();
  void typesAreThoseOfTheReference_data();
  void typesAreThoseOfTheReference();
  void shapesAreChecked_data();
  void shapesAreChecked();
  void bucketLimitsAreRoundedAndChecked();
  void valuesAreInRange();
  void controlCharactersInPathsAreFlagged();
  void missingFilesAreNamed();
};

void TestDatasetErrors::fiveWrongKeysAreOneReport() {
  const Read made = read_file(R"(generall = 1
[general]
shufle_caption = true
is_reg = true
[[datasets]]
resolutoin = 512
resolution = 512
  [[datasets.subsets]]
  image_dir = "a"
  captoin_extension = ".txt"
  batch_size = 2
  seed = 3
  xyzzy = 1
)");
  QCOMPARE(made.said(Severity::error),
           (std::vector<std::string>{
               "@:1: unknown key 'generall'; did you mean 'general'?",
               "@:3: unknown key 'shufle_caption'; did you mean 'shuffle_caption'?",
               "@:4: 'is_reg' cannot stand in [general]; it may stand in [[datasets.subsets]]",
               "@:6: unknown key 'resolutoin'; did you mean 'resolution'?",
               "@:10: unknown key 'captoin_extension'; did you mean 'caption_extension'?",
               "@:11: 'batch_size' cannot stand in [[datasets.subsets]]; it may stand in [general], [[datasets]]",
               "@:12: 'seed' is an option of the run: it belongs into the settings file or on the command line",
               "@:13: unknown key 'xyzzy'"}));
  QCOMPARE(made.config.datasets.at(0).subsets.size(), std::size_t{1});  // what could be read is there all the same
}

void TestDatasetErrors::typesAreThoseOfTheReference_data() {
  QTest::addColumn<QString>("line");
  QTest::addColumn<QString>("error");  // empty: accepted
  const auto row = [](const char* line, const char* error) { QTest::newRow(line) << line << error; };
  row("batch_size = true", "");  // Python's True is 1
  row("batch_size = 2.0", "@:2: batch_size must be a whole number, not a number with a point");
  row("batch_size = '2'", "@:2: batch_size must be a whole number, not text");
  row("enable_bucket = 1", "@:2: enable_bucket must be true or false, not a whole number");
  row("validation_split = 0", "@:2: validation_split must have a decimal point: write 0.0");
  row("validation_split = 0.0", "");
  row("network_multiplier = 1", "@:2: network_multiplier must have a decimal point: write 1.0");
  row("caption_dropout_rate = 0", "");
  row("token_warmup_step = 10", "");
  row("face_crop_aug_range = [1, 3]", "@:2: face_crop_aug_range must have a decimal point: write [1.0, 3.0]");
  row("face_crop_aug_range = [1.0]",
      "@:2: face_crop_aug_range must be two numbers with a point, such as [1.0, 3.0], not a list");
  row("face_crop_aug_range = [3.0, 1.0]", "");  // the order in the file is not checked
  row("caption_prefix = 1", "@:2: caption_prefix must be text, not a whole number");
  row("caption_prefix = 2024-01-01", "@:2: caption_prefix must be text, not a date");
  row("custom_attributes = 1", "@:2: custom_attributes must be a table, not a whole number");
}

void TestDatasetErrors::typesAreThoseOfTheReference() {
  QFETCH(QString, line);
  QFETCH(QString, error);
  const Read made =
      read_file("[[datasets]]\n" + line.toStdString() + "\nresolution = 512\n[[datasets.subsets]]\nimage_dir = 'a'\n");
  QCOMPARE(made.said(Severity::error),
           error.isEmpty() ? std::vector<std::string>() : std::vector<std::string>{error.toStdString()});
}

void TestDatasetErrors::shapesAreChecked_data() {
  QTest::addColumn<QString>("text");
  QTest::addColumn<QString>("error");
  const auto row = [](const char* text, const char* error) { QTest::newRow(text) << text << error; };
  row("[datasets]\nresolution = 512\n", "@:1: datasets must be a list of tables: write [[datasets]]");
  row("[[datasets]]\n[datasets.subsets]\nimage_dir='a'\n",
      "@:2: subsets must be a list of tables: write [[datasets.subsets]]");
  row("general = 1\n[[datasets]]\nresolution = 512\n[[datasets.subsets]]\nimage_dir='a'\n",
      "@:1: general must be a table, not a whole number");
  row("[[datasets]]\nresolution = 512\n", "@:1: this dataset has no [[datasets.subsets]]");
  row("[[datasets]]\nresolution = 512\nsubsets = []\n", "@:1: this dataset has no [[datasets.subsets]]");
  row("[general]\nbatch_size = 1\n", "@: the file holds no [[datasets]]");
  row("", "@: the file holds no [[datasets]]");
  row("[[datasets]]\nresolution = 512\n[[datasets.subsets]]\nnum_repeats = 1\n", "@:3: this subset has no image_dir");
  row("[[datasets]]\n[[datasets.subsets]]\nimage_dir = 'a'\n", "@:1: resolution is missing: write, for example, 1024");
  row("[[datasets]]\nresolution = [512, 512, 3]\n[[datasets.subsets]]\nimage_dir = 'a'\n",
      "@:2: resolution must be a whole number or [width, height], not a list");
  row("[[datasets]]\nresolution = 0\n[[datasets.subsets]]\nimage_dir = 'a'\n",
      "@:2: resolution must be \"1024\" or \"width,height\" in pixels, not '0'");
  row("[[datasets]]\nresolution = 512\n[[datasets.subsets]]\nimage_dir = ''\n", "@:4: image_dir is empty");
  row("image_dir = 'a'\n[[datasets]]\nresolution = 512\n[[datasets.subsets]]\nimage_dir = 'a'\n",
      "@:1: 'image_dir' cannot stand in the top level; it may stand in [[datasets.subsets]]");
}

void TestDatasetErrors::shapesAreChecked() {
  QFETCH(QString, text);
  QFETCH(QString, error);
  QCOMPARE(read_file(text.toStdString()).said(Severity::error), std::vector<std::string>{error.toStdString()});
}

void TestDatasetErrors::bucketLimitsAreRoundedAndChecked() {
  const std::string subset = "[[datasets.subsets]]\nimage_dir = 'a'\n";
  const Read rounded = read_file(
      "[[datasets]]\nresolution = 512\nenable_bucket = true\nmin_bucket_reso = 300\n"
      "max_bucket_reso = 1000\n" +
      subset);
  QCOMPARE(
      rounded.said(Severity::warning),
      (std::vector<std::string>{"@:4: min_bucket_reso 300 is no multiple of bucket_reso_steps 64; lowered to 256",
                                "@:5: max_bucket_reso 1000 is no multiple of bucket_reso_steps 64; raised to 1024"}));
  QCOMPARE(rounded.config.datasets[0].min_bucket_reso, std::int64_t{256});
  QCOMPARE(rounded.config.datasets[0].max_bucket_reso, std::int64_t{1024});

  const Read outside = read_file("[[datasets]]\nresolution = [192, 2048]\nenable_bucket = true\n" + subset);
  QCOMPARE(outside.said(Severity::error),
           (std::vector<std::string>{"@:1: the resolution 192x2048 has a side shorter than min_bucket_reso 256",
                                     "@:1: the resolution 192x2048 has a side longer than max_bucket_reso 1024"}));
  QVERIFY(outside.findings[1].fixes.at(0).set.at(0) == std::pair(std::string("max_bucket_reso"), std::string("2048")));

  QCOMPARE(read_file("[[datasets]]\nresolution = 512\nenable_bucket = true\nbucket_reso_steps = 40\n" + subset)
               .said(Severity::error),
           std::vector<std::string>{"@:4: bucket_reso_steps must be a multiple of 16 for Anima, not 40"});
  QCOMPARE(read_file("[[datasets]]\nresolution = 500\n" + subset).said(Severity::error),
           std::vector<std::string>{"@:2: resolution must be a multiple of 16 for Anima, not 500"});
  QCOMPARE(read_file("[[datasets]]\nresolution = 8192\n" + subset).said(Severity::error),
           std::vector<std::string>{"@:2: resolution is 8192; Anima has positions for at most 4096 pixels a side"});
  QCOMPARE(read_file("[[datasets]]\nresolution = 512\nenable_bucket = true\nbucket_no_upscale = true\n" + subset)
               .said(Severity::warning)
               .size(),
           std::size_t{1});
}

void TestDatasetErrors::valuesAreInRange() {
  QCOMPARE(
      read_file("[general]\ncaption_dropout_rate = 1.5\n[[datasets]]\nresolution = 512\nbatch_size = 0\n"
                "resize_interpolation = 'lancsoz'\n[[datasets.subsets]]\nimage_dir = 'a'\nkeep_tokens = -1\n"
                "resize_interpolation = 'magic'\n")
          .said(Severity::error),
      (std::vector<std::string>{
          "@:2: caption_dropout_rate must lie between 0 and 1, not 1.5", "@:5: batch_size must be at least 1, not 0",
          "@:6: resize_interpolation must be one of lanczos, nearest, bilinear, linear, bicubic, cubic, area, box; "
          "not 'lancsoz'. Did you mean 'lanczos'?",
          "@:9: keep_tokens must be at least 0, not -1",
          "@:10: resize_interpolation must be one of lanczos, nearest, bilinear, linear, bicubic, cubic, area, box; "
          "not 'magic'"}));
}

void TestDatasetErrors::controlCharactersInPathsAreFlagged() {
  const Read made = read_file("[[datasets]]\nresolution = 512\n[[datasets.subsets]]\nimage_dir = \"data\\train\"\n");
  QCOMPARE(made.said(Severity::error).size(), std::size_t{1});
  QVERIFY(made.said(Severity::error)[0].starts_with("@:4: image_dir holds a TAB: \"data\\x09rain\"; a backslash"));
}

void TestDatasetErrors::missingFilesAreNamed() {
  const TemporaryFolder folder;
  const std::string here = lathe::to_utf8(folder.path());
  folder.write("dataset.toml", "");
  QCOMPARE(read(with({{"dataset_config", here + "/datset.toml"}})).said(Severity::error),
           std::vector<std::string>{"dataset_config: there is no file " + here + "/datset.toml; did you mean " + here +
                                    "/dataset.toml?"});
  QCOMPARE(read(with({{"dataset_config", here + "/x/y/d.toml"}})).said(Severity::error),
           std::vector<std::string>{"dataset_config: there is no file " + here + "/x/y/d.toml, since " + here +
                                    "/x is not there"});
  QCOMPARE(read(with({{"dataset_config", here + "/d.yaml"}})).said(Severity::error),
           std::vector<std::string>{"dataset_config must end in .toml or .json: " + here + "/d.yaml"});
  QCOMPARE(read(Settings()).said(Severity::error).size(), std::size_t{1});
}

LATHE_TEST(TestDatasetErrors);
#include "dataset_errors_test.moc"
