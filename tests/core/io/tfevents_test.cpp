#include "core/io/tfevents.h"

#include "core/base/error.h"
#include "core/base/files.h"
#include "core/base/format.h"
#include "tests/core/io/io_fixture.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/test_main.h"

using namespace lathe;
using namespace lathe::io;
using namespace lathe::testing;

namespace {

// Two records that TensorBoard 2.21's own EventFileWriter wrote: the events below, behind its version event.
constexpr const char* kTensorBoardRecords =
    "3200000000000000241956ec0900001040fc54d94110072a250a130a0c6c6f73732f63757272656e74150000003f0a0e0a076c722f756e6574"
    "1517b7d13853b5c89f1e00000000000000d9dc12320900006040fc54d94110ac022a100a0e0a076c6f73732fc3a415000000c0f1b948e6";

const std::vector<TfEvent>& events() {
  static const std::vector<TfEvent> two = {{1700000000.25, 7, "", {{"loss/current", 0.5f}, {"lr/unet", 1e-4f}}},
                                           {1700000001.5, 300, "", {{"loss/ä", -2.0f}}}};
  return two;
}

std::filesystem::path write_events(const TemporaryFolder& folder) {
  const auto path = folder.path() / tfevents_file_name(1700000000.25, "lathe");
  TfEventsWriter writer(path, 1700000000.0);
  for (const TfEvent& event : events()) writer.add(event);
  return path;
}

}  // namespace

class TestTfEvents : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void knowsTheChecksumOfTheStandard();
  void writesTheBytesOfTensorBoard();
  void readsWhatItWrote();
  void namesFilesAsTensorBoardSeeksThem();
  void continuesAFileAfterItsLastWholeRecord_data();
  void continuesAFileAfterItsLastWholeRecord();
  void stopsAtADamagedRecord();
  void survivesDamagedBytes();
  void refusesToContinueAnotherKindOfFile();
};

void TestTfEvents::knowsTheChecksumOfTheStandard() {
  const std::string digits = "123456789";
  QCOMPARE(crc32c(std::as_bytes(std::span(digits))), 0xE3069283u);
  QCOMPARE(crc32c({}), 0u);
}

void TestTfEvents::writesTheBytesOfTensorBoard() {
  const TemporaryFolder folder;
  const QByteArray bytes = QByteArray::fromStdString(read_text(write_events(folder)));
  const QByteArray expected = QByteArray::fromHex(kTensorBoardRecords);
  QCOMPARE(bytes.right(expected.size()).toHex(), expected.toHex());
  QVERIFY(bytes.left(bytes.size() - expected.size()).contains("brain.Event:2"));
}

void TestTfEvents::readsWhatItWrote() {
  const TemporaryFolder folder;
  const TfEvents read = read_tfevents(write_events(folder));
  QCOMPARE(read.problem, std::string());
  QCOMPARE(read.events.size(), 3u);
  QCOMPARE(read.events[0].file_version, std::string("brain.Event:2"));
  QCOMPARE(read.events[1].step, 7);
  QCOMPARE(read.events[1].wall_time, 1700000000.25);
  QCOMPARE(read.events[1].scalars.size(), 2u);
  QCOMPARE(read.events[1].scalars[1].tag, std::string("lr/unet"));
  QCOMPARE(read.events[1].scalars[1].value, 1e-4f);
  QCOMPARE(read.events[2].scalars[0].tag, std::string("loss/ä"));
}

void TestTfEvents::namesFilesAsTensorBoardSeeksThem() {
  QCOMPARE(tfevents_file_name(1700000000.9, "lathe"), std::string("events.out.tfevents.1700000000.lathe"));
}

void TestTfEvents::continuesAFileAfterItsLastWholeRecord_data() {
  QTest::addColumn<int>("missing");
  QTest::addColumn<int>("kept");
  QTest::newRow("whole") << 0 << 3;
  QTest::newRow("last byte missing") << 1 << 2;
  QTest::newRow("half of the last record") << 30 << 2;
}

void TestTfEvents::continuesAFileAfterItsLastWholeRecord() {
  QFETCH(int, missing);
  QFETCH(int, kept);
  const TemporaryFolder folder;
  const auto path = write_events(folder);
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - static_cast<std::uintmax_t>(missing));
  {
    TfEventsWriter writer(path, 1700000100.0);
    QVERIFY(writer.add_scalar("loss/current", 0.25f, 8, 1700000101.0));
    QCOMPARE(writer.dropped(), 0u);
  }
  const TfEvents read = read_tfevents(path);
  QCOMPARE(read.problem, std::string());
  QCOMPARE(static_cast<int>(read.events.size()), kept + 1);
  QCOMPARE(read.events.back().step, 8);
}

void TestTfEvents::stopsAtADamagedRecord() {
  const TemporaryFolder folder;
  const auto path = write_events(folder);
  std::string bytes = read_text(path);
  bytes[bytes.size() - 10] ^= 1;
  const TfEvents read = read_tfevents(folder.write("damaged", bytes));
  QCOMPARE(read.problem, std::string("wrong checksum"));
  QCOMPARE(read.events.size(), 2u);
}

void TestTfEvents::survivesDamagedBytes() {
  const TemporaryFolder folder;
  const std::string bytes = read_text(write_events(folder));
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    std::string damaged = bytes;
    damaged[i] = static_cast<char>(damaged[i] ^ 0xFF);
    const TfEvents read = read_tfevents(folder.write(format("damaged{}", i), damaged));
    QVERIFY(!read.problem.empty());
    QVERIFY(read.events.size() < 3);
  }
}

void TestTfEvents::refusesToContinueAnotherKindOfFile() {
  const TemporaryFolder folder;
  const auto path = folder.write("notes.txt", "not to be lost");
  QVERIFY_EXCEPTION_THROWN((TfEventsWriter{path, 0.0}), Error);
  QCOMPARE(read_text(path), std::string("not to be lost"));
}

LATHE_TEST(TestTfEvents);
#include "tfevents_test.moc"
