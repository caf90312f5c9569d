#include "core/io/json_lines.h"

#include <limits>

#ifndef _WIN32
#include <sys/resource.h>
#include <csignal>
#endif

#include "core/base/error.h"
#include "core/base/files.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/test_main.h"

using namespace lathe;
using namespace lathe::io;
using namespace lathe::testing;

#ifndef _WIN32
namespace {

// While it lives, no file of this process grows beyond `bytes`: a disk that is full.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(std::uint64_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &before_);
    rlimit limit = before_;
    limit.rlim_cur = bytes;
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  void (*handler_)(int);
  rlimit before_{};
};

}  // namespace
#endif

class TestJsonLines : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void readsWhatItWrote();
  void writesEachLineAtOnce();
  void replacesWhatJsonCannotHold();
  void passesOverACutLastLine();
  void endsACutLineWhenItContinues();
  void countsUnreadableLines();
  void goesOnReadingWhereItStopped();
  void dropsLinesOnAFullDiskAndRecovers();
  void reportsADeviceThatTakesNothing();
  void saysWhyAFileCannotBeOpened();
};

void TestJsonLines::readsWhatItWrote() {
  const TemporaryFolder folder;
  const auto path = folder.path() / "events.jsonl";
  {
    JsonLinesWriter writer(path);
    QVERIFY(writer.append({{"step", 1}, {"loss", 0.5}, {"text", "zwei\nZeilen ä"}}));
    QVERIFY(writer.append(nlohmann::json::array({1, 2})));
  }
  {
    JsonLinesWriter writer(path);
    QVERIFY(writer.append("again"));
  }
  const JsonLines lines = read_json_lines(path);
  QCOMPARE(lines.values.size(), 3u);
  QCOMPARE(lines.values[0]["text"].get<std::string>(), std::string("zwei\nZeilen ä"));
  QCOMPARE(lines.values[2].get<std::string>(), std::string("again"));
  QVERIFY(!lines.last_line_cut && lines.unreadable.empty());
}

void TestJsonLines::writesEachLineAtOnce() {
  const TemporaryFolder folder;
  const auto path = folder.path() / "events.jsonl";
  JsonLinesWriter writer(path);
  QVERIFY(writer.append({{"step", 1}}));
  QCOMPARE(read_text(path), std::string("{\"step\":1}\n"));
}

void TestJsonLines::replacesWhatJsonCannotHold() {
  const TemporaryFolder folder;
  const auto path = folder.path() / "events.jsonl";
  JsonLinesWriter writer(path);
  QVERIFY(writer.append({{"loss", std::numeric_limits<double>::quiet_NaN()}, {"name", "a\xff"}}));
  const JsonLines lines = read_json_lines(path);
  QVERIFY(lines.values.at(0)["loss"].is_null());
  QCOMPARE(lines.values.at(0)["name"].get<std::string>(), std::string("a\xEF\xBF\xBD"));
}

void TestJsonLines::passesOverACutLastLine() {
  const TemporaryFolder folder;
  const JsonLines lines = read_json_lines(folder.write("a.jsonl", "{\"a\":1}\n{\"b\":"));
  QCOMPARE(lines.values.size(), 1u);
  QVERIFY(lines.last_line_cut);
  QVERIFY(lines.unreadable.empty());
  QCOMPARE(lines.end, 8u);
}

void TestJsonLines::endsACutLineWhenItContinues() {
  const TemporaryFolder folder;
  const auto path = folder.write("a.jsonl", "{\"a\":1}\n{\"b\":");
  JsonLinesWriter(path).append({{"c", 3}});
  const JsonLines lines = read_json_lines(path);
  QCOMPARE(lines.values.size(), 2u);
  QCOMPARE(lines.values[1]["c"].get<int>(), 3);
  QCOMPARE(lines.unreadable, (std::vector<std::uint64_t>{2}));
}

void TestJsonLines::countsUnreadableLines() {
  const TemporaryFolder folder;
  const std::string deep(100'000, '[');
  const JsonLines lines = read_json_lines(folder.write("a.jsonl", "1\n\nx\n" + deep + "\n\r\n2\n"));
  QCOMPARE(lines.values.size(), 2u);
  QCOMPARE(lines.unreadable, (std::vector<std::uint64_t>{3, 4}));
}

void TestJsonLines::goesOnReadingWhereItStopped() {
  const TemporaryFolder folder;
  const auto path = folder.path() / "a.jsonl";
  JsonLinesWriter writer(path);
  writer.append(1);
  const JsonLines first = read_json_lines(path);
  writer.append(2);
  const JsonLines second = read_json_lines(path, first.end);
  QCOMPARE(second.values.size(), 1u);
  QCOMPARE(second.values[0].get<int>(), 2);
  QCOMPARE(read_json_lines(path, second.end).values.size(), 0u);
  QCOMPARE(read_json_lines(path, 1000).values.size(), 0u);
}

void TestJsonLines::dropsLinesOnAFullDiskAndRecovers() {
#ifdef _WIN32
  QSKIP("needs a limit on file sizes");
#else
  const TemporaryFolder folder;
  const auto path = folder.path() / "a.jsonl";
  JsonLinesWriter writer(path);
  QVERIFY(writer.append("before"));
  const std::string longer(100, 'x');
  {
    const FileSizeLimit full(40);  // half of the next line would still fit
    QVERIFY(!writer.append(longer));
    QVERIFY(!writer.append(longer));
  }
  QCOMPARE(writer.dropped(), 2u);
  QVERIFY(!writer.last_problem().empty());
  QVERIFY(writer.append("after"));
  QCOMPARE(read_text(path), std::string("\"before\"\n\"after\"\n"));
#endif
}

void TestJsonLines::reportsADeviceThatTakesNothing() {
  if (!std::filesystem::exists("/dev/full")) QSKIP("this system has no /dev/full");
  JsonLinesWriter writer("/dev/full");
  QVERIFY(!writer.append(1));
  QVERIFY(!writer.append(2));
  QCOMPARE(writer.dropped(), 2u);
}

void TestJsonLines::saysWhyAFileCannotBeOpened() {
  const TemporaryFolder folder;
  try {
    JsonLinesWriter writer(folder.path() / "missing" / "a.jsonl");
    QFAIL("opened");
  } catch (const Error& error) {
    QVERIFY(QString::fromStdString(error.message()).contains("missing"));
  }
}

LATHE_TEST(TestJsonLines);
#include "json_lines_test.moc"
