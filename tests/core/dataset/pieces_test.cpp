// Small rules of the manifest: names of caches, tags, regularisation repeats, fingerprints.

#include "core/base/files.h"
#include "core/dataset/cache_names.h"
#include "core/dataset/fingerprint.h"
#include "core/dataset/regularisation.h"
#include "core/dataset/tags.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/test_main.h"

using namespace lathe;
using namespace lathe::dataset;
using lathe::testing::TemporaryFolder;

class TestManifestPieces : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void cacheNamesAreTheReferences();
  void cacheNamesAreReadBack_data();
  void cacheNamesAreReadBack();
  void tagsAreCountedInTheOrderFirstSeen();
  void lowersAsPython_data();
  void lowersAsPython();
  void regularisationIsCutOrRepeated_data();
  void regularisationIsCutOrRepeated();
  void fingerprintsFollowTheContent();
};

void TestManifestPieces::cacheNamesAreTheReferences() {
  QCOMPARE(latent_cache_name("dir/foo.png", {1920, 1080}), std::string("dir/foo_1920x1080_anima.npz"));
  QCOMPARE(latent_cache_name("dir.x/a.b.jpeg", {64, 12345}), std::string("dir.x/a.b_0064x12345_anima.npz"));
  QCOMPARE(text_cache_name("dir/foo.png"), std::string("dir/foo_anima_te.npz"));
}

void TestManifestPieces::cacheNamesAreReadBack_data() {
  QTest::addColumn<QString>("name");
  QTest::addColumn<QString>("stem");
  QTest::addColumn<int>("width");
  QTest::addColumn<int>("height");
  QTest::newRow("usual") << "foo_1920x1080_anima.npz"
                         << "foo" << 1920 << 1080;
  QTest::newRow("underscores") << "a_b_0064x0048_anima.npz"
                               << "a_b" << 64 << 48;
  QTest::newRow("text outputs") << "foo_anima_te.npz"
                                << "" << 0 << 0;
  QTest::newRow("no size") << "foo_anima.npz"
                           << "" << 0 << 0;
  QTest::newRow("zero") << "foo_0000x0010_anima.npz"
                        << "" << 0 << 0;
  QTest::newRow("not a number") << "foo_1x2y_anima.npz"
                                << "" << 0 << 0;
}

void TestManifestPieces::cacheNamesAreReadBack() {
  QFETCH(QString, name);
  const auto parsed = parse_latent_cache_name(name.toStdString());
  QTEST(QString::fromStdString(parsed ? parsed->stem : ""), "stem");
  QTEST(parsed ? parsed->size.width : 0, "width");
  QTEST(parsed ? parsed->size.height : 0, "height");
}

void TestManifestPieces::tagsAreCountedInTheOrderFirstSeen() {
  TagCounter counter;
  counter.add("d2", {"1girl, solo, Red Hat", "night,1GIRL, ,,  ü "});
  counter.add("empty", {""});
  counter.add("d2", {"solo"});
  const auto folders = counter.take();
  QCOMPARE(folders.size(), std::size_t{2});
  const std::vector<std::pair<std::string, std::int64_t>> expected = {
      {"1girl", 2}, {"solo", 2}, {"red hat", 1}, {"night", 1}, {"ü", 1}};
  QVERIFY(folders[0].tags == expected);
  QVERIFY(folders[1].tags.empty());
}

// Expected values are those of str.lower() in CPython.
void TestManifestPieces::lowersAsPython_data() {
  QTest::addColumn<QString>("text");
  QTest::addColumn<QString>("expected");
  QTest::newRow("latin") << "ÄÖ Straße É"
                         << "äö straße é";
  QTest::newRow("dotted I") << "İI"
                            << "i\u0307i";
  QTest::newRow("sigma in a word") << "ΣΑΣ ΟΔΟΣ."
                                   << "σας οδος.";
  QTest::newRow("sigma alone") << "Σ"
                               << "σ";
  QTest::newRow("sigma before a mark") << "ΑΣ\u0301Α ΑΣ'"
                                       << "ασ\u0301α ας'";
  QTest::newRow("cyrillic and others") << "ЖУК ǅ Ⅷ"
                                       << "жук ǆ ⅷ";
  QTest::newRow("without case") << "日本 123"
                                << "日本 123";
}

void TestManifestPieces::lowersAsPython() {
  QFETCH(QString, text);
  QTEST(QString::fromStdString(python_lower(text.toStdString())), "expected");
}

void TestManifestPieces::regularisationIsCutOrRepeated_data() {
  QTest::addColumn<int>("items");
  QTest::addColumn<QList<qint64>>("repeats");
  QTest::addColumn<QList<qint64>>("expected");
  QTest::newRow("as many") << 4 << QList<qint64>{2, 2} << QList<qint64>{2, 2};
  QTest::newRow("surplus") << 3 << QList<qint64>{1, 1, 1, 1} << QList<qint64>{1, 1, 1, 0};
  QTest::newRow("the last one overshoots") << 3 << QList<qint64>{2, 2, 2} << QList<qint64>{2, 2, 0};
  QTest::newRow("scarce") << 8 << QList<qint64>{1, 1, 1} << QList<qint64>{3, 3, 2};
  QTest::newRow("none") << 8 << QList<qint64>{} << QList<qint64>{};
  QTest::newRow("nothing trained") << 0 << QList<qint64>{1} << QList<qint64>{0};
}

void TestManifestPieces::regularisationIsCutOrRepeated() {
  QFETCH(int, items);
  QFETCH(QList<qint64>, repeats);
  QFETCH(QList<qint64>, expected);
  const auto used = regularisation_repeats(items, std::vector<std::int64_t>(repeats.begin(), repeats.end()));
  QVERIFY(used == std::vector<std::int64_t>(expected.begin(), expected.end()));
}

void TestManifestPieces::fingerprintsFollowTheContent() {
  const TemporaryFolder folder;
  const auto path = folder.write("a.png", "content");
  const FileFingerprint known = fingerprint_of(path);
  QCOMPARE(known.size_bytes, std::uint64_t{7});
  QVERIFY(is_unchanged(path, known) && is_unchanged(path, known, true));

  std::filesystem::last_write_time(path, std::filesystem::last_write_time(path) + std::chrono::hours(1));
  QVERIFY(is_unchanged(path, known));  // a copy: the hash decides
  const auto later = std::filesystem::last_write_time(path);
  folder.write("a.png", "CONTENT");
  QVERIFY(!is_unchanged(path, known));
  FileFingerprint same_time = known;
  std::filesystem::last_write_time(path, later);
  same_time.modified_ns = fingerprint_of(path).modified_ns;
  QVERIFY(is_unchanged(path, same_time));         // size and time are believed
  QVERIFY(!is_unchanged(path, same_time, true));  // unless asked to be thorough
  folder.write("a.png", "longer content");
  QVERIFY(!is_unchanged(path, known));
  QVERIFY(!is_unchanged(folder.path() / "none", known));
}

LATHE_TEST(TestManifestPieces);
#include "pieces_test.moc"
