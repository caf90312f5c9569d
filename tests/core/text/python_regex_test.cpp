#include "core/text/python_regex.h"

#include "core/base/error.h"
#include "tests/support/test_main.h"

using namespace lathe;
using lathe::text::PythonRegex;

class TestPythonRegex : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void matchesAsPythonsFullmatch_data();
  void matchesAsPythonsFullmatch();
  void givesTheReasonOfABadPattern_data();
  void givesTheReasonOfABadPattern();
  void refusesAPatternThatNeverEnds();
};

void TestPythonRegex::matchesAsPythonsFullmatch_data() {
  QTest::addColumn<QString>("pattern");
  QTest::addColumn<QString>("subject");
  QTest::addColumn<bool>("matches");
  const auto row = [](const char* name, const char* pattern, const char* subject, bool matches) {
    QTest::newRow(name) << pattern << subject << matches;
  };
  row("whole", ".*self_attn.*", "blocks.0.self_attn.q_proj", true);
  row("not a search", "self_attn", "blocks.0.self_attn", false);
  row("backs off to reach the end", "a|ab", "ab", true);
  row("built in", ".*(_modulation|_norm|_embedder|final_layer).*", "blocks.3.adaln_modulation_mlp.1", true);
  row("range of blocks", R"(blocks\.([0-9]|1[0-3])\..*)", "blocks.13.mlp.layer1", true);
  row("outside the range", R"(blocks\.([0-9]|1[0-3])\..*)", "blocks.14.mlp.layer1", false);
  row("dot and line feed", "a.b", "a\nb", false);
  row("dot and carriage return", "a.b", "a\rb", true);
  row("Z is the very end", R"(a\Z)", "a", true);
  row("vertical tab, no class", R"(\v)", "\n", false);
  row("vertical tab", R"(\v)", "\x0b", true);
  row("code point", R"(caf\u00e9)", "caf\u00e9", true);
  row("Unicode word", R"(\w+)", "caf\u00e9", true);
  row("Unicode digit", R"(\d)", "\u0663", true);
  row("up to two", "a{,2}", "aa", true);
  row("up to two, three", "a{,2}", "aaa", false);
  row("a literal brace", "a{x", "a{x", true);
  row("no POSIX class", "[[:alpha:]]", "a]", true);
  row("bracket in a set", "[]a]+", "a]", true);
  row("named group", "(?P<n>a|b)(?P=n)", "bb", true);
  row("comment", "a(?#b)c", "ac", true);
  row("flags first", "(?i)MLP", "mlp", true);
  row("flags of a group", "(?i:M)LP", "mLP", true);
  row("empty", "", "", true);
}

void TestPythonRegex::matchesAsPythonsFullmatch() {
  QFETCH(QString, pattern);
  QFETCH(QString, subject);
  QFETCH(bool, matches);
  const PythonRegex::Compiled compiled = PythonRegex::compile(pattern.toStdString());
  QVERIFY2(compiled.regex.has_value(), compiled.problem.c_str());
  QCOMPARE(compiled.regex->full_match(subject.toStdString()), matches);
}

void TestPythonRegex::givesTheReasonOfABadPattern_data() {
  QTest::addColumn<QByteArray>("pattern");
  for (const char* pattern : {"(",        ")",
                              "[a",       "*a",
                              "a**",      "\\",
                              R"(\q)",    R"(\h)",
                              R"(\p{L})", R"(\K)",
                              R"(\x4)",   R"([\Z])",
                              "(*UCP)a",  "(?R)",
                              "(?|a)",    "(?'n'a)",
                              "(?<n>a)",  "a(?i)b",
                              "(?-i)",    "(?i",
                              "(?#a",     R"(\N{BULLET})",
                              R"(\1)",    "[b-a]",
                              "caf\xE9"}) {
    QTest::newRow(QByteArray(pattern).toPercentEncoding().constData()) << QByteArray(pattern);
  }
}

void TestPythonRegex::givesTheReasonOfABadPattern() {
  QFETCH(QByteArray, pattern);
  const PythonRegex::Compiled compiled = PythonRegex::compile(pattern.toStdString());
  QVERIFY(!compiled.regex.has_value());
  QVERIFY(!compiled.problem.empty());
}

void TestPythonRegex::refusesAPatternThatNeverEnds() {
  const PythonRegex::Compiled compiled = PythonRegex::compile("(a+)+b");
  QVERIFY(compiled.regex.has_value());
  QVERIFY_EXCEPTION_THROWN(compiled.regex->full_match(std::string(60, 'a') + "cb"), Error);
}

LATHE_TEST(TestPythonRegex);
#include "python_regex_test.moc"
