#include "core/train/prompts.h"

#include "tests/support/temporary_folder.h"
#include "tests/support/test_main.h"

using namespace lathe;
using lathe::testing::TemporaryFolder;

class TestPrompts : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void readsLinesWithOptions();
  void takesThePromptItselfForNoOption();
  void bringsSizesAndStepsIntoRange();
  void laysSubsetsOverDefaults();
  void readsListsOfTablesAndLines();
  void saysWhereAProblemIs_data();
  void saysWhereAProblemIs();
};

void TestPrompts::readsLinesWithOptions() {
  const TemporaryFolder folder;
  const auto path = folder.write("p.txt",
                                 "\xEF\xBB\xBF"
                                 "a red cat --w 768 --h 640 --d 7 --s 20 --l 4.5 --fs 2 --n blurry, bad\r\n"
                                 "\n"
                                 "# a comment\n"
                                 "ein Hünd, 犬\n");
  config::Findings findings;
  const auto prompts = train::read_prompts(path, findings);
  QVERIFY(findings.all().empty());
  QCOMPARE(prompts.size(), 2u);
  const train::Prompt& first = prompts[0];
  QCOMPARE(first.text, std::string("a red cat"));
  QCOMPARE(first.negative_prompt, std::string("blurry, bad"));
  QCOMPARE(first.width, 768);
  QCOMPARE(first.height, 640);
  QCOMPARE(first.seed.value(), 7);
  QCOMPARE(first.steps, 20);
  QCOMPARE(first.scale, 4.5);
  QCOMPARE(first.flow_shift, 2.0);
  QCOMPARE(prompts[1].text, std::string("ein Hünd, 犬"));
  QCOMPARE(prompts[1].index, 1);
  QCOMPARE(prompts[1].line, 4);
  QCOMPARE(prompts[1].scale, 7.5);
  QVERIFY(!prompts[1].seed.has_value());
}

void TestPrompts::takesThePromptItselfForNoOption() {
  config::Findings findings;
  const train::Prompt prompt = train::parse_prompt_line("w 100 tall trees --h 128", "p.txt", 1, findings);
  QCOMPARE(prompt.text, std::string("w 100 tall trees"));
  QCOMPARE(prompt.width, 512);
  QCOMPARE(prompt.height, 128);
}

void TestPrompts::bringsSizesAndStepsIntoRange() {
  config::Findings findings;
  const train::Prompt prompt = train::parse_prompt_line("a --w 775 --h 20 --s 5000", "p.txt", 1, findings);
  QCOMPARE(prompt.width, 768);
  QCOMPARE(prompt.height, 64);
  QCOMPARE(prompt.steps, 1000);
}

void TestPrompts::laysSubsetsOverDefaults() {
  const TemporaryFolder folder;
  const auto path = folder.write("p.toml",
                                 "[prompt]\nwidth = 1024\nscale = 4\nnegative_prompt = \"bad\"\n"
                                 "[[prompt.subset]]\nprompt = \"one\"\nseed = 1\n"
                                 "[[prompt.subset]]\nprompt = \"two\"\nwidth = 640\n");
  config::Findings findings;
  const auto prompts = train::read_prompts(path, findings);
  QVERIFY(findings.all().empty());
  QCOMPARE(prompts.size(), 2u);
  QCOMPARE(prompts[0].width, 1024);
  QCOMPARE(prompts[0].scale, 4.0);
  QCOMPARE(prompts[0].seed.value(), 1);
  QCOMPARE(prompts[1].text, std::string("two"));
  QCOMPARE(prompts[1].width, 640);
  QCOMPARE(prompts[1].negative_prompt, std::string("bad"));
}

void TestPrompts::readsListsOfTablesAndLines() {
  const TemporaryFolder folder;
  const auto path =
      folder.write("p.json", "[{\"prompt\": \"one\", \"sample_steps\": 4, \"seed\": null},\n \"two --s 6\"]");
  config::Findings findings;
  const auto prompts = train::read_prompts(path, findings);
  QVERIFY(findings.all().empty());
  QCOMPARE(prompts.size(), 2u);
  QCOMPARE(prompts[0].steps, 4);
  QVERIFY(!prompts[0].seed.has_value());
  QCOMPARE(prompts[1].text, std::string("two"));
  QCOMPARE(prompts[1].steps, 6);
}

void TestPrompts::saysWhereAProblemIs_data() {
  QTest::addColumn<QString>("name");
  QTest::addColumn<QByteArray>("content");
  QTest::addColumn<QString>("expected");
  QTest::newRow("value") << "p.txt" << QByteArray("a\nb --w wide\n")
                         << "p.txt:2: prompt option 'width' is 'wide'; it must be a whole number";
  QTest::newRow("unknown option") << "p.txt" << QByteArray("a --q 3\n")
                                  << "p.txt:1: prompt option '--q' does not exist and is left out";
  QTest::newRow("without effect") << "p.txt" << QByteArray("a --g 3\n")
                                  << "p.txt:1: prompt option 'guidance_scale' has no effect with Anima";
  QTest::newRow("too large") << "p.txt" << QByteArray("a --h 8192\n")
                             << "p.txt:1: height of 8192 pixels is more than the 4096";
  QTest::newRow("nothing") << "p.txt" << QByteArray("# only this\n") << "p.txt: the file holds no prompt";
  QTest::newRow("toml value") << "p.toml" << QByteArray("[prompt]\n[[prompt.subset]]\nprompt = \"a\"\nseed = \"x\"\n")
                              << "p.toml:4: prompt option 'seed' is";
  QTest::newRow("toml syntax") << "p.toml" << QByteArray("[prompt]\nwidth = = 3\n") << "p.toml:2";
  QTest::newRow("toml without subsets") << "p.toml" << QByteArray("[prompt]\nwidth = 3\n")
                                        << "expected [[prompt.subset]]";
  QTest::newRow("json no list") << "p.json" << QByteArray("{\"prompt\": \"a\"}") << "expected a list of prompts";
  QTest::newRow("json without prompt") << "p.json" << QByteArray("[\n{\"seed\": 3}]")
                                       << "p.json:2: there is no prompt here";
  QTest::newRow("kind") << "p.yaml" << QByteArray("a") << "prompt files end in .txt, .toml or .json";
}

void TestPrompts::saysWhereAProblemIs() {
  QFETCH(QString, name);
  QFETCH(QByteArray, content);
  QFETCH(QString, expected);
  const TemporaryFolder folder;
  config::Findings findings;
  train::read_prompts(folder.write(name.toStdString(), content.toStdString()), findings);
  QCOMPARE(findings.all().size(), 1u);
  const QString text = QString::fromStdString(findings.all().front().english());
  QVERIFY2(text.contains(expected), qPrintable(text));
}

LATHE_TEST(TestPrompts);
#include "prompts_test.moc"
