#include "core/base/files.h"

#include "core/base/error.h"
#include "core/base/paths.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/test_main.h"

using namespace lathe;
using lathe::testing::TemporaryFolder;

class TestFiles : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void keepsTheOldFileWhenTheCheckFails();
  void leavesNothingBehindWithoutCommit();
  void namesThePathThatCannotBeRead();
  void splitsExtensionsAsPython_data();
  void splitsExtensionsAsPython();
};

void TestFiles::keepsTheOldFileWhenTheCheckFails() {
  const TemporaryFolder folder;
  const auto path = folder.write("a.txt", "old");
  AtomicFile file(path);
  file.write("new");
  QVERIFY_EXCEPTION_THROWN(file.commit([](const auto&) { throw Error(ErrorKind::file, "bad"); }), Error);
  QCOMPARE(read_text(path), std::string("old"));
}

void TestFiles::leavesNothingBehindWithoutCommit() {
  const TemporaryFolder folder;
  {
    AtomicFile file(folder.path() / "a.txt");
    file.write("half");
  }
  QVERIFY(std::filesystem::is_empty(folder.path()));
}

void TestFiles::namesThePathThatCannotBeRead() {
  const TemporaryFolder folder;
  try {
    read_text(folder.path() / "missing.txt");
    QFAIL("no error");
  } catch (const Error& error) {
    QVERIFY(QString::fromStdString(error.message()).contains("missing.txt"));
  }
}

void TestFiles::splitsExtensionsAsPython_data() {
  QTest::addColumn<QString>("path");
  QTest::addColumn<QString>("stem");
  QTest::addColumn<QString>("extension");
  QTest::newRow("plain") << "dir/a.b.png"
                         << "dir/a.b"
                         << ".png";
  QTest::newRow("hidden") << "dir/.png"
                          << "dir/.png"
                          << "";
  QTest::newRow("dot in folder") << "dir.x/a"
                                 << "dir.x/a"
                                 << "";
}

void TestFiles::splitsExtensionsAsPython() {
  QFETCH(QString, path);
  QFETCH(QString, stem);
  QFETCH(QString, extension);
  const SplitExtension split = split_extension(path.toStdString());
  QCOMPARE(QString::fromStdString(split.stem), stem);
  QCOMPARE(QString::fromStdString(split.extension), extension);
}

LATHE_TEST(TestFiles);
#include "files_test.moc"
