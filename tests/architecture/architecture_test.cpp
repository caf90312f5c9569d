#include "core/base/files.h"
#include "core/base/paths.h"
#include "tests/architecture/checker.h"
#include "tests/support/test_main.h"

class TestArchitecture : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void theTreeKeepsItsRules();
};

void TestArchitecture::theTreeKeepsItsRules() {
  const std::filesystem::path root = lathe::from_utf8(qgetenv("LATHE_SOURCE_DIR").toStdString());
  const auto layers = lathe::architecture::parse_layers(lathe::read_text(root / "tests/architecture/layers.txt"));
  const auto report = lathe::architecture::check_tree(root, layers);
  for (const std::string& warning : report.warnings) qWarning("long file: %s", warning.c_str());
  for (const std::string& violation : report.violations) qCritical("%s", violation.c_str());
  QCOMPARE(report.violations.size(), std::size_t{0});  // they stand above
  QVERIFY(report.files > 20);                          // it looked at something
}

LATHE_TEST(TestArchitecture);
#include "architecture_test.moc"
