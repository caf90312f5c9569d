#include "core/base/paths.h"
#include "core/text/qwen3_tokenizer.h"
#include "tests/core/text/tokenizer_vectors.h"
#include "tests/support/golden.h"
#include "tests/support/test_main.h"

using namespace lathe;
using namespace lathe::testing;

class TestGoldenTokenizerQwen3 : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void givesTheIdsOfTheReference_data();
  void givesTheIdsOfTheReference();
};

void TestGoldenTokenizerQwen3::givesTheIdsOfTheReference_data() {
  QTest::addColumn<QString>("golden");
  QTest::newRow("curated and random texts") << "tokenizers/qwen3/test_vectors.json";
  QTest::newRow("rules that few texts touch") << "tokenizers/qwen3/rare_text.json";
}

void TestGoldenTokenizerQwen3::givesTheIdsOfTheReference() {
  QFETCH(QString, golden);
  if (!has_golden(golden.toStdString())) QSKIP(qPrintable("golden file " + golden + " is not there"));
  const auto tokenizer = text::Qwen3Tokenizer::load(resource_folder() / "tokenizers" / "qwen3");

  const std::vector<TokenizerVector> vectors = read_vectors(golden.toStdString());

  QVERIFY(!vectors.empty());
  QCOMPARE(count_differences(vectors, [&](const std::string& text) { return tokenizer.encode(text); }), 0);
}

LATHE_TEST(TestGoldenTokenizerQwen3);
#include "golden_tokenizer_qwen3_test.moc"
