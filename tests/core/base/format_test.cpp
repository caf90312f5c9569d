#include "core/base/format.h"

#include "core/base/error.h"
#include "core/base/hash.h"
#include "tests/support/test_main.h"

class TestFormat : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void writesShapesAndPaths();
  void returnsThePatternWithANoteWhenItDoesNotFit();
  void chainsContextInnermostFirst();
  void hashesAsEveryoneElse();
};

void TestFormat::writesShapesAndPaths() {
  QCOMPARE(lathe::format("{} has shape {}", std::filesystem::path("ä"), std::vector<std::int64_t>{2, 16}),
           std::string("ä has shape [2, 16]"));
  QCOMPARE(lathe::format("{:.2f} {}", 1.5, true), std::string("1.50 true"));
}

void TestFormat::returnsThePatternWithANoteWhenItDoesNotFit() {
  QVERIFY(QString::fromStdString(lathe::format("{} {}", 1)).startsWith("{} {} [format:"));
}

void TestFormat::chainsContextInnermostFirst() {
  lathe::Error error(lathe::ErrorKind::file, "no");
  error.while_doing("reading a");
  error.while_doing("training");
  QCOMPARE(QString(error.what()), QString("no (while reading a, while training)"));
}

void TestFormat::hashesAsEveryoneElse() {
  QCOMPARE(lathe::sha256_hex("abc"), std::string("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"));
  QCOMPARE(lathe::fnv1a_32("pixels"), 577923372u);
}

LATHE_TEST(TestFormat);
#include "format_test.moc"
