#include "core/config/help.h"

#include "core/config/schema.h"
#include "tests/support/test_main.h"

using namespace lathe::config;

class TestHelp : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void everyOptionIsExplainedOnce();
  void everyTopicIsThere();
  void saysWhyAnOptionDoesNotWork();
  void staysWithinItsColumns();
};

void TestHelp::everyOptionIsExplainedOnce() {
  const QString all = QString::fromStdString(help_topic("options").value());
  for (const Option& row : options()) {
    const QString name = QString::fromStdString(std::string(row.name));
    QCOMPARE(all.count(QRegularExpression("^  --" + name + "( |$)", QRegularExpression::MultilineOption)), 1);
    QVERIFY(help_topic(row.name).value().find("\n      ") != std::string::npos);
  }
}

void TestHelp::everyTopicIsThere() {
  const std::string overview = help_overview();
  for (const std::string& topic : help_topics()) {
    QVERIFY(help_topic(topic).has_value());
    QVERIFY(overview.find("  " + topic + " ") != std::string::npos);
  }
  QVERIFY(help_topic("--learning-rate").value().find("(default 2e-06)") != std::string::npos);
  QVERIFY(help_topic("dataset_file").value().find("[[datasets.subsets]]") != std::string::npos);
  QVERIFY(!help_topic("nonsense"));
}

void TestHelp::saysWhyAnOptionDoesNotWork() {
  QVERIFY(help_topic("compile_mode").value().find("one of default, reduce-overhead") != std::string::npos);
  QVERIFY(help_topic("tokenizer_cache_dir").value().find("No effect. tokenizer_cache_dir: nothing reads it") !=
          std::string::npos);
  QVERIFY(help_topic("attn_mode").value().find("Not available. attn_mode xformers, flash, sageattn: ") !=
          std::string::npos);
  QVERIFY(help_topic("bucket_remainder").value().find("not in the reference") != std::string::npos);
}

void TestHelp::staysWithinItsColumns() {
  for (const QString& line : QString::fromStdString(help_topic("options").value() + help_overview()).split('\n')) {
    QVERIFY2(line.size() <= 100 || !line.trimmed().contains(' '), qPrintable(line));
  }
}

LATHE_TEST(TestHelp);
#include "help_test.moc"
