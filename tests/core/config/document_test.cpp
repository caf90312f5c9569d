#include "core/config/document.h"

#include "tests/support/temporary_folder.h"
#include "tests/support/test_main.h"

using namespace lathe::config;

namespace {

std::string only_finding(const Findings& findings) {
  if (findings.all().size() != 1) return "[" + std::to_string(findings.all().size()) + " findings]";
  return findings.all().front().english();
}

}  // namespace

class TestDocument : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void readsTomlWithItsLinesInOrder();
  void readsJsonWithItsLines();
  void bothGiveTheSameTree();
  void answersBadFilesWithOneLine_data();
  void answersBadFilesWithOneLine();
  void hintsAtBackslashes();
  void refusesHugeFiles();
  void longTextsMayHoldDotsAndBrackets();
};

void TestDocument::readsTomlWithItsLinesInOrder() {
  Findings findings;
  const auto root = parse_toml("b = 1\na = 'x'\n\n[t]\nz = 2.5\ny = [1, true]\nd = 2024-01-02\n", "f.toml", findings);
  QVERIFY(root);
  QVERIFY(findings.all().empty());
  QCOMPARE(root->members[0].key, std::string("b"));
  QCOMPARE(root->members[1].line, 2);
  QCOMPARE(root->members[2].key, std::string("t"));
  const Node& table = root->find("t")->value;
  QCOMPARE(table.members[0].key, std::string("z"));
  QCOMPARE(table.members[0].line, 5);
  QCOMPARE(table.find("z")->value.real, 2.5);
  QCOMPARE(table.find("y")->value.items[1].boolean, true);
  QCOMPARE(table.find("d")->value.text, std::string("2024-01-02"));
  QVERIFY(table.find("d")->value.kind == Node::Kind::date);
}

void TestDocument::readsJsonWithItsLines() {
  Findings findings;
  const auto root =
      parse_json("{\n \"a\": 1,\n \"l\": [\n  {\"x\": null},\n  2.0\n ],\n \"a\": \"last\"\n}", "f.json", findings);
  QVERIFY(root);
  QCOMPARE(root->members.size(), std::size_t{2});
  QCOMPARE(root->find("l")->line, 3);
  QCOMPARE(root->find("l")->value.items[0].find("x")->line, 4);
  QVERIFY(root->find("l")->value.items[1].kind == Node::Kind::real);
  QCOMPARE(root->find("a")->value.text, std::string("last"));
}

void TestDocument::bothGiveTheSameTree() {
  Findings findings;
  const auto toml =
      parse_toml("[[datasets]]\nresolution = 512\n[[datasets.subsets]]\nimage_dir = 'd'\n", "a", findings);
  const auto json =
      parse_json(R"({"datasets": [{"resolution": 512, "subsets": [{"image_dir": "d"}]}]})", "b", findings);
  QVERIFY(toml && json);
  for (const Node& root : {*toml, *json}) {
    const Node& dataset = root.find("datasets")->value.items.at(0);
    QCOMPARE(dataset.find("resolution")->value.integer, std::int64_t{512});
    QCOMPARE(dataset.find("subsets")->value.items.at(0).find("image_dir")->value.text, std::string("d"));
  }
}

void TestDocument::answersBadFilesWithOneLine_data() {
  QTest::addColumn<QString>("name");
  QTest::addColumn<QByteArray>("bytes");
  QTest::addColumn<QString>("begins");
  const auto row = [](const char* what, const char* name, const QByteArray& bytes, const char* begins) {
    QTest::newRow(what) << name << bytes << begins;
  };
  row("syntax", "a.toml", "a = 1\nb = = 2\n", "a.toml:2: not valid TOML");
  row("duplicate", "a.toml", "a = 1\na = 2\n", "a.toml:2: not valid TOML");
  row("open list", "a.toml", "a = [1,\n", "a.toml:1: not valid TOML");
  row("not UTF-8", "a.toml", "a = 1\nb = '\xff'\n", "a.toml:2: the file is not UTF-8 text: byte 0xff");
  row("overlong", "a.toml", "a = '\xc0\x80'\n", "a.toml:1: the file is not UTF-8");
  row("UTF-16", "a.toml",
      QByteArray("\xff\xfe"
                 "a\0=\0",
                 6),
      "a.toml:1: the file is UTF-16");
  row("zero byte", "a.toml", QByteArray("a = 'x\0y'", 9), "a.toml:1: not valid TOML");
  row("deep lists", "a.toml", "a = " + QByteArray(100000, '['), "a.toml:1: tables or lists are nested");
  row("deep keys", "a.toml", "[" + QByteArray("a.").repeated(100000) + "a]", "a.toml:1: tables or lists are nested");
  row("deep tables", "a.toml", "a = " + QByteArray("{a=").repeated(50000), "a.toml:1: tables or lists are nested");
  row("JSON syntax", "a.json", "{\n\"a\": }", "a.json:2: not valid JSON");
  row("JSON empty", "a.json", "", "a.json:1: not valid JSON");
  row("JSON cut off", "a.json", "{\"a\": [1, 2", "a.json:1: not valid JSON");
  row("JSON trailing", "a.json", "{} {}", "a.json:1: not valid JSON");
  row("JSON deep", "a.json", QByteArray(1000000, '['), "a.json:1: objects or lists are nested");
  row("JSON not UTF-8", "a.json", "{\"\xfe\": 1}", "a.json:1: the file is not UTF-8");
  row("JSON number", "a.json", "[18446744073709551615]", "a.json:1: the number 18446744073709551615");
  row("JSON long token", "a.json", "{\"a\": \"" + QByteArray(500000, 'x') + "\n", "a.json:2: not valid JSON");
}

void TestDocument::answersBadFilesWithOneLine() {
  QFETCH(QString, name);
  QFETCH(QByteArray, bytes);
  QFETCH(QString, begins);
  Findings findings;
  const std::string text = bytes.toStdString();
  const auto root = name.endsWith(".json") ? parse_json(text, name.toStdString(), findings)
                                           : parse_toml(text, name.toStdString(), findings);
  QVERIFY(!root);
  const QString answer = QString::fromStdString(only_finding(findings));
  QVERIFY2(answer.startsWith(begins), qPrintable(answer));
  QVERIFY(!answer.contains('\n'));
  QVERIFY(answer.size() < 400);
}

void TestDocument::hintsAtBackslashes() {
  Findings findings;
  QVERIFY(!parse_toml("image_dir = \"C:\\Users\\me\"\n", "a.toml", findings));
  QVERIFY2(only_finding(findings).find("write '…'") != std::string::npos, only_finding(findings).c_str());
}

void TestDocument::refusesHugeFiles() {
  const lathe::testing::TemporaryFolder folder;
  const auto file = folder.write("big.toml", std::string(17u << 20, '#'));
  Findings findings;
  QVERIFY(!read_toml(file, findings));
  QVERIFY(only_finding(findings).find("17.0 MiB") != std::string::npos);

  Findings missing;
  QVERIFY(!read_toml(folder.path() / "none.toml", missing));
  QVERIFY(only_finding(missing).find("none.toml") != std::string::npos);
}

void TestDocument::longTextsMayHoldDotsAndBrackets() {
  const std::string dots(500, '.');
  const std::string brackets(500, '[');
  Findings findings;
  const auto root = parse_toml("a = \"" + dots + "\"\nb = '''\n" + dots + brackets + "'quoted''\n'''\n# " + brackets +
                                   "\nc = \"\"\"x\\\"\"\"\"\nd = 1\n",
                               "a.toml", findings);
  QVERIFY2(root, findings.all().empty() ? "" : findings.all()[0].english().c_str());
  QCOMPARE(root->find("a")->value.text, dots);
  QCOMPARE(root->find("c")->value.text, std::string("x\""));
  QCOMPARE(root->find("d")->line, 7);
}

LATHE_TEST(TestDocument);
#include "document_test.moc"
