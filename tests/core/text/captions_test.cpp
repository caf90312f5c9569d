#include "core/text/captions.h"

#include "core/base/error.h"
#include "core/text/caption_files.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/test_main.h"

using namespace lathe;
using namespace lathe::text;

class TestCaptions : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void drawsAsPythonDoes();
  void drawsDropoutThenWildcardThenShuffleThenTags();
  void marksOfTheTextDoNotBecomeBraces();
  void warmUpBelowOneIsAFractionOfAllSteps();
  void refusesAnEmptySeparatorOnlyWhereItIsNeeded();
  void looksForTheNameWithoutTheFaceAsWell();
  void takesNoFolderForACaption();
};

namespace {

// What CPython draws after random.seed(1234).
std::string process(const std::string& caption, const CaptionOptions& options, CaptionMoment moment = {}) {
  PythonRandom random(1234);
  PythonCaptionDraws draws(random);
  return process_caption(caption, options, moment, draws);
}

}  // namespace

void TestCaptions::drawsAsPythonDoes() {
  PythonRandom random(1234);
  PythonCaptionDraws draws(random);
  QCOMPARE(draws.random(), 0.9664535356921388);
  QCOMPARE(draws.choice(5), std::size_t{3});
  QCOMPARE(draws.choice(5), std::size_t{0});
  QCOMPARE(draws.shuffle(6), (std::vector<std::size_t>{1, 3, 2, 4, 5, 0}));  // "abcdef" → "bdcefa"
}

// Written with CPython: the same draws by hand, in this order.
void TestCaptions::drawsDropoutThenWildcardThenShuffleThenTags() {
  const CaptionOptions options = {
      .shuffle_caption = true, .enable_wildcard = true, .caption_dropout_rate = 0.5, .caption_tag_dropout_rate = 0.4};
  QCOMPARE(process("{v|w|x|y|z}, {v|w|x|y|z}, a, b, c, d", options), std::string("c, y"));
}

void TestCaptions::marksOfTheTextDoNotBecomeBraces() {
  const CaptionOptions options = {.enable_wildcard = true};
  QCOMPARE(process("\u2985 {{a}} \u2986\u2986", options), std::string("\u2985 {a} \u2986\u2986"));
}

void TestCaptions::warmUpBelowOneIsAFractionOfAllSteps() {
  const CaptionOptions options = {.token_warmup_min = 1, .token_warmup_step = 0.5};
  QCOMPARE(process("a,b,c,d,e", options, {.step = 5, .max_train_steps = 20}), std::string("a, b, c"));
  QCOMPARE(process("a,b,c,d,e", options, {.step = 10, .max_train_steps = 20}), std::string("a, b, c, d, e"));
}

void TestCaptions::refusesAnEmptySeparatorOnlyWhereItIsNeeded() {
  CaptionOptions options = {.caption_separator = ""};
  QCOMPARE(process("a,b", options), std::string("a,b"));
  options.shuffle_caption = true;
  QVERIFY_EXCEPTION_THROWN(process("a,b", options), Error);
}

void TestCaptions::looksForTheNameWithoutTheFaceAsWell() {
  using Paths = std::vector<std::string>;
  QCOMPARE(caption_candidates("d/img_1_2_3_4.png", "txt"), (Paths{"d/img_1_2_3_4.txt", "d/img.txt"}));
  QCOMPARE(caption_candidates("d/img_1_2_3.png", ".txt"), (Paths{"d/img_1_2_3.txt"}));
  // The reference counts the parts of the whole path.
  QCOMPARE(caption_candidates("a_b_c_d_e/img.png", ".txt"), (Paths{"a_b_c_d_e/img.txt", "a.txt"}));
  QCOMPARE(caption_candidates("____.png", ".txt"), (Paths{"____.txt", ".txt"}));
  QCOMPARE(caption_candidates("img.png", ""), (Paths{"img"}));
}

void TestCaptions::takesNoFolderForACaption() {
  const testing::TemporaryFolder folder;
  std::filesystem::create_directory(folder.path() / "img.txt");
  const ImageCaption caption =
      read_caption((folder.path() / "img.png").string(), {.caption_extension = ".txt", .class_tokens = "cat"});
  QCOMPARE(caption.text, std::string("cat"));
  QVERIFY(!caption.file.has_value());
}

LATHE_TEST(TestCaptions);
#include "captions_test.moc"
