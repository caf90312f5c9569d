#include "core/config/python_literal.h"

#include <limits>

#include "tests/support/test_main.h"

using namespace lathe::config;

class TestPythonLiteral : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void writesFloatsAsPythonDoes_data();
  void writesFloatsAsPythonDoes();
  void readsAndWritesLiterals_data();
  void readsAndWritesLiterals();
  void refusesWhatIsNoLiteral_data();
  void refusesWhatIsNoLiteral();
  void readsNumbersAsPythonDoes();
  void writesSettingsAsTheMetadataWants();
  void readsOptimizerArguments();
  void reportsArgumentsThatAreNone();
};

void TestPythonLiteral::writesFloatsAsPythonDoes_data() {
  QTest::addColumn<double>("number");
  QTest::addColumn<QString>("text");
  QTest::newRow("one") << 1.0 << "1.0";
  QTest::newRow("rate") << 1e-6 << "1e-06";
  QTest::newRow("default rate") << 2e-6 << "2e-06";
  QTest::newRow("written out") << 1e-4 << "0.0001";
  QTest::newRow("just below") << 9.9e-5 << "9.9e-05";
  QTest::newRow("tenth") << 0.1 << "0.1";
  QTest::newRow("sum") << 0.1 + 0.2 << "0.30000000000000004";
  QTest::newRow("third") << 1.0 / 3.0 << "0.3333333333333333";
  QTest::newRow("large") << 1e15 << "1000000000000000.0";
  QTest::newRow("exponent") << 1e16 << "1e+16";
  QTest::newRow("exponent with digits") << 123456789012345678.0 << "1.2345678901234568e+17";
  QTest::newRow("three digits of exponent") << 1e100 << "1e+100";
  QTest::newRow("negative zero") << -0.0 << "-0.0";
  QTest::newRow("negative") << -1.5 << "-1.5";
  QTest::newRow("largest") << std::numeric_limits<double>::max() << "1.7976931348623157e+308";
  QTest::newRow("smallest") << std::numeric_limits<double>::denorm_min() << "5e-324";
  QTest::newRow("infinite") << std::numeric_limits<double>::infinity() << "inf";
  QTest::newRow("undefined") << std::numeric_limits<double>::quiet_NaN() << "nan";
}

void TestPythonLiteral::writesFloatsAsPythonDoes() {
  QFETCH(double, number);
  QFETCH(QString, text);
  QCOMPARE(QString::fromStdString(python_repr(number)), text);
}

void TestPythonLiteral::readsAndWritesLiterals_data() {
  QTest::addColumn<QString>("written");
  QTest::addColumn<QString>("repr");
  const auto row = [](const char* written, const char* repr) { QTest::newRow(written) << written << repr; };
  row("1", "1");
  row("-1", "-1");
  row(" 0x1F", "31");
  row("1_000", "1000");
  row("1e-8", "1e-08");
  row(".5", "0.5");
  row("5.", "5.0");
  row("1E5", "100000.0");
  row("True", "True");
  row("None", "None");
  row("'a'", "'a'");
  row("\"it's\"", "\"it's\"");
  row("'a\\n\\x41\\u00e9'", "'a\\nAé'");
  row("r'\\d+'", "'\\\\d+'");
  row("'a' \"b\"", "'ab'");
  row("'''a'b'''", "\"a'b\"");
  row("0.9,0.99", "(0.9, 0.99)");
  row("(0.9, 0.99)", "(0.9, 0.99)");
  row("(1,)", "(1,)");
  row("(1)", "1");
  row("()", "()");
  row("[1, 'x', None]", "[1, 'x', None]");
  row("{'a': 1, 'b': [2]}", "{'a': 1, 'b': [2]}");
  row("((1, 2), [3])", "((1, 2), [3])");
}

void TestPythonLiteral::readsAndWritesLiterals() {
  QFETCH(QString, written);
  QFETCH(QString, repr);
  const auto value = parse_python_literal(written.toStdString());
  QVERIFY(value);
  QCOMPARE(QString::fromStdString(python_repr(*value)), repr);
}

void TestPythonLiteral::refusesWhatIsNoLiteral_data() {
  QTest::addColumn<QString>("written");
  for (const char* written : {"", "abc", "1 2", "(1, 2", "'a", "[1,,2]", "1+2", "--3", "007", "true", "0x", "1__0",
                              "{1, 2}", "99999999999999999999", "os.system('x')", "'\\x4'", "inf"}) {
    QTest::newRow(written) << written;
  }
  QTest::newRow("deep") << QString(100000, '(');
}

void TestPythonLiteral::refusesWhatIsNoLiteral() {
  QFETCH(QString, written);
  QVERIFY(!parse_python_literal(written.toStdString()));
}

void TestPythonLiteral::readsNumbersAsPythonDoes() {
  QCOMPARE(*parse_python_int(" +1_6 "), std::int64_t{16});
  QCOMPARE(*parse_python_int("-5"), std::int64_t{-5});
  QVERIFY(!parse_python_int("1.0"));
  QVERIFY(!parse_python_int("9223372036854775808"));
  QCOMPARE(*parse_python_float("1e-4"), 1e-4);
  QCOMPARE(*parse_python_float("+.5"), 0.5);
  QCOMPARE(*parse_python_float("-Infinity"), -std::numeric_limits<double>::infinity());
  QVERIFY(!parse_python_float("0x10"));
  QVERIFY(!parse_python_float("--1"));
  QVERIFY(!parse_python_float("1e"));
}

void TestPythonLiteral::writesSettingsAsTheMetadataWants() {
  QCOMPARE(python_str(Value()), std::string("None"));
  QCOMPARE(python_str(Value(true)), std::string("True"));
  QCOMPARE(python_str(Value(std::int64_t{16})), std::string("16"));
  QCOMPARE(python_str(Value(16.0)), std::string("16.0"));
  QCOMPARE(python_str(Value(std::string("a'b"))), std::string("a'b"));
  QCOMPARE(python_str(Value(Steps{.is_ratio = true, .ratio = 0.25})), std::string("0.25"));
  QCOMPARE(python_str(Value(Steps{.steps = 100})), std::string("100"));
  QCOMPARE(python_str(Value(std::vector<double>{1e-5, 2.0})), std::string("[1e-05, 2.0]"));
  QCOMPARE(python_str(Value(std::vector<std::string>{"a=1", "b"})), std::string("['a=1', 'b']"));
}

void TestPythonLiteral::readsOptimizerArguments() {
  Settings settings;
  settings.set("optimizer_args", std::vector<std::string>{"weight_decay=0.05", "betas=0.9,0.99", "amsgrad=True"},
               Source::command_line);
  Findings findings;
  const auto pairs = parse_literals(settings, "optimizer_args", findings);
  QVERIFY(findings.all().empty());
  QCOMPARE(pairs.size(), std::size_t{3});
  QCOMPARE(python_str(pairs[0].value), std::string("0.05"));
  QCOMPARE(python_str(pairs[1].value), std::string("(0.9, 0.99)"));
  QCOMPARE(*pairs[1].value.items[1].number(), 0.99);
  QVERIFY(pairs[2].value.boolean);
}

void TestPythonLiteral::reportsArgumentsThatAreNone() {
  Settings settings;
  settings.set("optimizer_args", std::vector<std::string>{"weight_decay", "eps=small", "eps=1e-8", "eps=1e-6"},
               Source::command_line);
  Findings findings;
  const auto pairs = parse_literals(settings, "optimizer_args", findings);
  QCOMPARE(pairs.size(), std::size_t{1});
  QCOMPARE(*pairs[0].value.number(), 1e-6);
  QCOMPARE(findings.count(Severity::error), std::size_t{1});
  QCOMPARE(findings.count(Severity::warning), std::size_t{2});
  QCOMPARE(findings.all()[0].english(), std::string("optimizer_args: 'weight_decay' is not of the form key=value"));

  Settings lines;
  lines.set("optimizer_args", std::vector<std::string>{"a\nb"}, Source::command_line);
  Findings one_line;
  parse_literals(lines, "optimizer_args", one_line);
  QCOMPARE(one_line.all().at(0).english(), std::string("optimizer_args: 'a\\x0ab' is not of the form key=value"));

  Settings other;
  other.set("optimizer_args", std::vector<std::string>{"eps=small"}, Source::command_line);
  Findings again;
  QVERIFY(parse_literals(other, "optimizer_args", again).empty());
  QVERIFY(again.all().at(0).english().starts_with("optimizer_args: the value of 'eps' must be in Python's notation"));
}

LATHE_TEST(TestPythonLiteral);
#include "python_literal_test.moc"
