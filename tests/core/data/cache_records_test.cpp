#include "core/data/cache_records.h"

#include <fstream>

#include "core/base/files.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/test_main.h"

using namespace lathe;
using namespace lathe::data;
using lathe::testing::TemporaryFolder;

class TestCacheRecords : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void remembersAcrossRuns();
  void theLastRecordCounts();
  void twoProcessesMayFillOneFolder();
  void aCutOffLineCostsOneRecordAtMost();
  void olderLinesAreClearedAwayInTime();
};

namespace {

CacheRecord record_of(const std::string& vae) {
  CacheRecord record;
  record.made_with = {{"vae", vae}, {"resize", "area 80x56"}};
  record.source = dataset::FileFingerprint{12, -34, "ab"};
  record.cache = dataset::FileFingerprint{56, 78, "cd"};
  return record;
}

std::string vae_of(const std::optional<CacheRecord>& record) {
  return record ? record->made_with.at("vae") : std::string("none");
}

}  // namespace

void TestCacheRecords::remembersAcrossRuns() {
  const TemporaryFolder folder;
  const auto cache = folder.path() / "a_0001x0002_anima.npz";
  CacheRecords().put(cache, "latents_1x2", record_of("A"));
  const auto found = CacheRecords().find(cache, "latents_1x2");
  QVERIFY(found.has_value());
  QVERIFY(found->made_with == record_of("A").made_with);
  QVERIFY(found->source.has_value());
  QCOMPARE(found->source->size_bytes, std::uint64_t{12});
  QCOMPARE(found->source->modified_ns, std::int64_t{-34});
  QCOMPARE(found->cache.sha256, std::string("cd"));
  QVERIFY(!CacheRecords().find(cache, "latents_2x1").has_value());
  QVERIFY(!CacheRecords().find(folder.path() / "b.npz", "latents_1x2").has_value());
}

void TestCacheRecords::theLastRecordCounts() {
  const TemporaryFolder folder;
  const auto cache = folder.path() / "a.npz";
  CacheRecords().put(cache, "text", record_of("A"));
  CacheRecords().put(cache, "text", record_of("B"));
  QCOMPARE(vae_of(CacheRecords().find(cache, "text")), std::string("B"));
}

void TestCacheRecords::twoProcessesMayFillOneFolder() {
  const TemporaryFolder folder;
  CacheRecords one, two;
  for (int i = 0; i < 20; ++i) {
    (i % 2 ? one : two).put(folder.path() / (std::to_string(i) + ".npz"), "text", record_of(std::to_string(i)));
  }
  const CacheRecords later;
  for (int i = 0; i < 20; ++i) {
    QCOMPARE(vae_of(later.find(folder.path() / (std::to_string(i) + ".npz"), "text")), std::to_string(i));
  }
}

void TestCacheRecords::aCutOffLineCostsOneRecordAtMost() {
  const TemporaryFolder folder;
  CacheRecords().put(folder.path() / "a.npz", "text", record_of("A"));
  CacheRecords().put(folder.path() / "b.npz", "text", record_of("B"));
  const auto file = folder.path() / "lathe_cache.jsonl";
  std::filesystem::resize_file(file, std::filesystem::file_size(file) - 10);
  CacheRecords().put(folder.path() / "c.npz", "text", record_of("C"));
  const CacheRecords later;
  QCOMPARE(vae_of(later.find(folder.path() / "a.npz", "text")), std::string("A"));
  QCOMPARE(vae_of(later.find(folder.path() / "b.npz", "text")), std::string("none"));
  QCOMPARE(vae_of(later.find(folder.path() / "c.npz", "text")), std::string("C"));
}

void TestCacheRecords::olderLinesAreClearedAwayInTime() {
  const TemporaryFolder folder;
  {
    CacheRecords records;
    for (int i = 0; i < 1200; ++i) records.put(folder.path() / "a.npz", "text", record_of(std::to_string(i)));
  }
  const auto file = folder.path() / "lathe_cache.jsonl";
  const auto before = std::filesystem::file_size(file);
  QCOMPARE(vae_of(CacheRecords().find(folder.path() / "a.npz", "text")), std::string("1199"));
  QVERIFY(std::filesystem::file_size(file) < before / 100);
  QCOMPARE(vae_of(CacheRecords().find(folder.path() / "a.npz", "text")), std::string("1199"));
}

LATHE_TEST(TestCacheRecords);
#include "cache_records_test.moc"
