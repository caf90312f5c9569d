#include "core/compile/toolchain/kernel_cache.h"

#include <fstream>
#include <thread>

#include "core/base/error.h"
#include "core/base/files.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/test_main.h"

using namespace lathe;
using namespace lathe::toolchain;
using lathe::testing::TemporaryFolder;
namespace fs = std::filesystem;

class TestKernelCache : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void findsWhatWasPut();
  void dropsADamagedEntry_data();
  void dropsADamagedEntry();
  void keepsNothingOfABuildThatFails();
  void removesTheOldestPastTheLimit();
  void refusesAFolderThatOthersMayWriteTo();
  void takesAPrivateFolderWhereItsOwnCannotBeMade();
  void isSharedByWritersAtOnce();
  void tellsListsOfPartsApart();
};

namespace {

void write_file(const fs::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

fs::path put(KernelCache& cache, const std::string& key, const std::string& text) {
  return cache.put(key, ".so", [&](const fs::path& target) { write_file(target, text); });
}

}  // namespace

void TestKernelCache::findsWhatWasPut() {
  const TemporaryFolder folder;
  KernelCache cache(folder.path() / "kernels");
  QVERIFY(!cache.find("a", ".so").has_value());
  put(cache, "a", "binary");
  KernelCache other(folder.path() / "kernels");
  const auto found = other.find("a", ".so");
  QVERIFY(found.has_value());
  QCOMPARE(read_text(*found), std::string("binary"));
#ifndef _WIN32
  QVERIFY((fs::status(cache.folder()).permissions() & fs::perms::mask) == fs::perms::owner_all);
#endif
}

void TestKernelCache::dropsADamagedEntry_data() {
  QTest::addColumn<QString>("file");
  QTest::addColumn<QString>("text");
  QTest::newRow("cut") << "a.so"
                       << "bin";
  QTest::newRow("other bytes") << "a.so"
                               << "BINARY";
  QTest::newRow("foreign check") << "a.check"
                                 << "not ours";
  QTest::newRow("empty check") << "a.check"
                               << "";
}

void TestKernelCache::dropsADamagedEntry() {
  QFETCH(QString, file);
  QFETCH(QString, text);
  const TemporaryFolder folder;
  KernelCache cache(folder.path() / "kernels");
  put(cache, "a", "binary");
  write_file(cache.folder() / file.toStdString(), text.toStdString());
  QVERIFY(!cache.find("a", ".so").has_value());
  put(cache, "a", "binary");
  QVERIFY(cache.find("a", ".so").has_value());
}

void TestKernelCache::keepsNothingOfABuildThatFails() {
  const TemporaryFolder folder;
  KernelCache cache(folder.path() / "kernels");
  QVERIFY_EXCEPTION_THROWN(cache.put("a", ".so", [](const fs::path&) { throw Error(ErrorKind::format, "bad source"); }),
                           Error);
  QVERIFY(fs::is_empty(cache.folder()));
}

void TestKernelCache::removesTheOldestPastTheLimit() {
  const TemporaryFolder folder;
  KernelCache cache(folder.path() / "kernels", 4096);
  const std::string text(1500, 'x');
  put(cache, "old", text);
  put(cache, "used", text);
  fs::last_write_time(cache.folder() / "old.check", fs::file_time_type::clock::now() - std::chrono::hours(2));
  fs::last_write_time(cache.folder() / "used.check", fs::file_time_type::clock::now() - std::chrono::hours(3));
  QVERIFY(cache.find("used", ".so").has_value());  // reading it makes it young
  put(cache, "new", text);
  QVERIFY(!cache.find("old", ".so").has_value());
  QVERIFY(cache.find("used", ".so").has_value());
  QVERIFY(cache.find("new", ".so").has_value());
  QVERIFY(cache.size_bytes() <= 4096);
}

void TestKernelCache::refusesAFolderThatOthersMayWriteTo() {
#ifdef _WIN32
  QSKIP("POSIX modes");
#else
  const TemporaryFolder folder;
  const fs::path open = folder.path() / "kernels";
  fs::create_directory(open);
  fs::permissions(open, fs::perms::all);
  std::vector<Message> warnings;
  KernelCache cache(open, 1 << 20, [&](Message text) { warnings.push_back(std::move(text)); });
  QCOMPARE(warnings.size(), std::size_t{1});
  QVERIFY(cache.folder() != open);
  put(cache, "a", "binary");
  QVERIFY(cache.find("a", ".so").has_value());
  QVERIFY(fs::is_empty(open));
#endif
}

void TestKernelCache::takesAPrivateFolderWhereItsOwnCannotBeMade() {
  const TemporaryFolder folder;
  const fs::path file = folder.write("a-file", "x");
  int warnings = 0;
  fs::path used;
  {
    KernelCache cache(file / "kernels", 1 << 20, [&](const Message&) { ++warnings; });
    used = cache.folder();
    put(cache, "a", "binary");
    QVERIFY(cache.find("a", ".so").has_value());
  }
  QCOMPARE(warnings, 1);
  QVERIFY(!fs::exists(used));
}

void TestKernelCache::isSharedByWritersAtOnce() {
  const TemporaryFolder folder;
  std::vector<std::thread> writers;
  for (int i = 0; i < 4; ++i) {
    writers.emplace_back([&] {
      KernelCache cache(folder.path() / "kernels");
      for (int round = 0; round < 20; ++round) put(cache, "same", "binary");
    });
  }
  for (std::thread& writer : writers) writer.join();
  KernelCache cache(folder.path() / "kernels");
  QVERIFY(cache.find("same", ".so").has_value());
  QCOMPARE(std::distance(fs::directory_iterator(cache.folder()), fs::directory_iterator()), std::ptrdiff_t{2});
}

void TestKernelCache::tellsListsOfPartsApart() {
  QVERIFY(CacheKey().add("a", "b\nc=1:d").hex() != CacheKey().add("a", "b").add("c", "d").hex());
  QCOMPARE(CacheKey().add("a", "b").hex(), CacheKey().add("a", "b").hex());
}

LATHE_TEST(TestKernelCache);
#include "kernel_cache_test.moc"
