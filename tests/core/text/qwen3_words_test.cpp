#include "core/text/qwen3_words.h"

#include "tests/support/test_main.h"

class TestQwen3Words : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void cutsAsTheExpressionDoes_data();
  void cutsAsTheExpressionDoes();
};

// What Hugging Face's tokenizers make of the expression, words with '|' between.
void TestQwen3Words::cutsAsTheExpressionDoes_data() {
  QTest::addColumn<QString>("words");
  const auto row = [](const char* name, const char* words) { QTest::newRow(name) << QString(words); };
  row("long s is an s", "'\u017f|abc");
  row("contractions in capitals", "I|'LL|'ve|X");
  row("an apostrophe before", "''|s");
  row("no contraction", "'l");
  row("apostrophe at the end", "'");
  row("numbers one by one", "a|1|\u0663|b|\u2160");
  row("marks take line breaks", " !?\r\n\n| x");
  row("space up to the last break", "a| \n \n| | b");
  row("the last space leads", " | a");
  row("any space leads letters", "\t|\u3000x");
  row("spaces at the end", "a|  ");
  row("only U+0020 leads marks", "\u00a0|\u0085|.");
  row("combining marks are no letters", "\u0301\u0302|a");
  row("a mark leads letters", "e|\u0301\u00e9");
  row("controls", "\u0001\u0002|z");
  row("Unicode 15 and 16", "\U000323af|\U00010d40");
  row("joiners", " \u200d\u200d");
  row("break before a mark", " \n|!");
}

void TestQwen3Words::cutsAsTheExpressionDoes() {
  QFETCH(QString, words);
  const std::string text = QString(words).remove('|').toStdString();
  QStringList found;
  for (const std::string_view word : lathe::text::qwen3_words(text)) {
    found << QString::fromUtf8(word.data(), static_cast<qsizetype>(word.size()));
  }
  QCOMPARE(found.join('|'), words);
}

LATHE_TEST(TestQwen3Words);
#include "qwen3_words_test.moc"
