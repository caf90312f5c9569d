#include "core/base/error.h"
#include "core/base/files.h"
#include "core/dataset/cache_info.h"
#include "core/dataset/metadata_file.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/test_main.h"

using namespace lathe;
using namespace lathe::dataset;
using lathe::testing::TemporaryFolder;

namespace {

QString keys(const std::vector<MetadataEntry>& entries) {
  QStringList all;
  for (const MetadataEntry& entry : entries) all << QString::fromStdString(entry.key);
  return all.join(' ');
}

}  // namespace

class TestMetadata : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void longerKeysComeFirstAndEqualOnesKeepTheirOrder();
  void jsonLinesAreReadByLine();
  void everyProblemIsNamedWithItsLine();
  void textThatIsNoJsonIsAFinding();
  void captionsAndTagsAreJoined_data();
  void captionsAndTagsAreJoined();
  void cacheInfoIsWrittenAsTheReferenceWritesIt();
  void cacheInfoThatIsBrokenIsNamed();
};

void TestMetadata::longerKeysComeFirstAndEqualOnesKeepTheirOrder() {
  const TemporaryFolder folder;
  // "ü.png" has 5 characters (6 bytes), as many as "b.png": the order of the file decides.
  const auto path = folder.write("meta.json",
                                 R"({"b.png": {}, "ü.png": {"caption": "x"}, "a.png": {"caption": "first"},
                                     "long/name.png": {"image_size": [30, 40], "tags": "t", "other": 1},
                                     "a.png": {"caption": "second"}})");
  config::Findings findings;
  const auto entries = read_metadata_file(path, findings);
  QCOMPARE(findings.all().size(), std::size_t{0});
  QCOMPARE(keys(entries), QString("long/name.png b.png ü.png a.png"));
  QVERIFY(entries[0].size == Size(30, 40));
  QCOMPARE(entries[0].tags, std::string("t"));
  QCOMPARE(entries[3].caption, std::string("second"));
}

void TestMetadata::jsonLinesAreReadByLine() {
  const TemporaryFolder folder;
  const auto path = folder.write("meta.jsonl",
                                 "{\"image_path\": \"a.png\", \"caption\": \"one\"}\n\n"
                                 "{\"image_path\": \"b.png\", \"tags\": null, \"image_size\": [8, 9]}\r\n");
  config::Findings findings;
  const auto entries = read_metadata_file(path, findings);
  QCOMPARE(findings.all().size(), std::size_t{0});
  QCOMPARE(keys(entries), QString("a.png b.png"));
  QVERIFY(entries[1].size == Size(8, 9));
}

void TestMetadata::everyProblemIsNamedWithItsLine() {
  const TemporaryFolder folder;
  const auto path = folder.write("meta.jsonl",
                                 "{\"image_path\": \"a.png\", \"caption\": 3}\n"
                                 "{\"caption\": \"x\"}\n"
                                 "{not json}\n"
                                 "{\"image_path\": \"b.png\", \"image_size\": [0, 9]}\n"
                                 "{\"image_path\": \"c.png\"}\n");
  config::Findings findings;
  const auto entries = read_metadata_file(path, findings);
  QCOMPARE(keys(entries), QString("c.png"));
  QCOMPARE(findings.all().size(), std::size_t{4});
  for (std::size_t i = 0; i < 4; ++i) QCOMPARE(findings.all()[i].line, static_cast<int>(i) + 1);
  QVERIFY(QString::fromStdString(findings.all()[0].english()).contains("'caption' is not a text"));
}

void TestMetadata::textThatIsNoJsonIsAFinding() {
  const TemporaryFolder folder;
  for (const char* text : {"", "[1, 2]", "{\"a.png\": {\"caption\": \"x\"}", "{\"a.png\": 3}", "{\"a.png\": [{}]}"}) {
    config::Findings findings;
    const auto entries = read_metadata_file(folder.write("meta.json", text), findings);
    QVERIFY2(findings.has_errors(), text);
    QVERIFY(entries.size() <= 1);  // what stood before the end of a cut file may be there
  }
  config::Findings findings;
  QVERIFY_EXCEPTION_THROWN(read_metadata_file(folder.path() / "none.json", findings), Error);
}

void TestMetadata::captionsAndTagsAreJoined_data() {
  QTest::addColumn<QString>("caption");
  QTest::addColumn<QString>("tags");
  QTest::addColumn<bool>("wildcard");
  QTest::addColumn<QString>("expected");
  QTest::newRow("both") << "a cat"
                        << "cat, black" << false << "a cat,cat, black";
  QTest::newRow("tags alone") << ""
                              << "cat" << false << "cat";
  QTest::newRow("caption alone") << "a cat"
                                 << "" << false << "a cat";
  QTest::newRow("each line") << "one\n\n two "
                             << "x\ny" << true << "one,x,y\n two ,x,y";
  QTest::newRow("blank caption") << " \n"
                                 << "x" << true << "x";
}

void TestMetadata::captionsAndTagsAreJoined() {
  QFETCH(QString, caption);
  QFETCH(QString, tags);
  QFETCH(bool, wildcard);
  const MetadataEntry entry{"a.png", caption.toStdString(), tags.toStdString(), std::nullopt};
  QTEST(QString::fromStdString(compose_caption(entry, wildcard, ",")), "expected");
}

void TestMetadata::cacheInfoIsWrittenAsTheReferenceWritesIt() {
  const TemporaryFolder folder;
  const std::vector<CachedInfo> entries = {{"d/ü.png", "say \"hi\"\n日", {64, 48}}, {"d/b.png", "", {1, 2}}};
  QVERIFY(!read_cache_info(folder.path()));
  write_cache_info(folder.path(), entries);
  QCOMPARE(read_text(folder.path() / kCacheInfoName), std::string(R"({
  "d/ü.png": {
    "caption": "say \"hi\"\n日",
    "resolution": [
      64,
      48
    ]
  },
  "d/b.png": {
    "caption": "",
    "resolution": [
      1,
      2
    ]
  }
})"));
  const auto read = read_cache_info(folder.path());
  QVERIFY(read && read->size() == 2);
  QCOMPARE(read->front().key, entries.front().key);
  QCOMPARE(read->front().caption, entries.front().caption);
  QVERIFY(read->back().size == Size(1, 2));
}

void TestMetadata::cacheInfoThatIsBrokenIsNamed() {
  const TemporaryFolder folder;
  folder.write(kCacheInfoName, R"({"a.png": {"caption": "x", "resolution": [0, 3]}})");
  try {
    static_cast<void>(read_cache_info(folder.path()));
    QFAIL("no error");
  } catch (const Error& error) {
    QVERIFY(QString::fromStdString(error.message()).contains("a.png"));
    QVERIFY(QString::fromStdString(error.message()).contains(kCacheInfoName));
  }
}

LATHE_TEST(TestMetadata);
#include "metadata_test.moc"
