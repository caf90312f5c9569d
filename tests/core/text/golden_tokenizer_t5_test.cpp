#include "core/base/paths.h"
#include "core/text/t5_tokenizer.h"
#include "tests/core/text/tokenizer_vectors.h"
#include "tests/support/golden.h"
#include "tests/support/test_main.h"

using namespace lathe;
using namespace lathe::testing;

class TestGoldenTokenizerT5 : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void givesTheIdsOfTheReference_data();
  void givesTheIdsOfTheReference();
};

void TestGoldenTokenizerT5::givesTheIdsOfTheReference_data() {
  QTest::addColumn<QString>("golden");
  QTest::newRow("curated and random texts") << "tokenizers/t5/test_vectors.json";
  QTest::newRow("rules that few texts touch") << "tokenizers/t5/rare_text.json";
}

void TestGoldenTokenizerT5::givesTheIdsOfTheReference() {
  QFETCH(QString, golden);
  if (!has_golden(golden.toStdString())) QSKIP(qPrintable("golden file " + golden + " is not there"));
  const auto tokenizer = text::T5Tokenizer::load(resource_folder() / "tokenizers" / "t5");

  const std::vector<TokenizerVector> vectors = read_vectors(golden.toStdString());

  QVERIFY(!vectors.empty());
  QCOMPARE(count_differences(vectors, [&](const std::string& text) { return tokenizer.encode(text); }), 0);
}

LATHE_TEST(TestGoldenTokenizerT5);
#include "golden_tokenizer_t5_test.moc"
