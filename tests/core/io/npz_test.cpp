#include "core/io/npz.h"

#include <algorithm>
#include <cstring>

#include <zip.h>

#include "core/base/error.h"
#include "core/base/files.h"
#include "core/base/format.h"
#include "core/base/paths.h"
#include "core/io/npy.h"
#include "tests/core/io/io_fixture.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/test_main.h"

using namespace lathe;
using namespace lathe::io;
using namespace lathe::testing;

namespace {

template <class T>
std::span<const std::byte> bytes_of(const std::vector<T>& values) {
  return std::as_bytes(std::span(values));
}

template <class T>
std::vector<T> values_of(const NpzArray& array) {
  std::vector<T> values(array.bytes.size() / sizeof(T));
  std::memcpy(values.data(), array.bytes.data(), array.bytes.size());
  return values;
}

// A zip archive of entries as they are, deflated.
std::string zip_of(const std::vector<std::pair<std::string, std::string>>& entries, const std::filesystem::path& path) {
  int failed = 0;
  zip_t* archive = zip_open(to_utf8(path).c_str(), ZIP_CREATE | ZIP_TRUNCATE, &failed);
  for (const auto& [name, bytes] : entries) {
    zip_file_add(archive, name.c_str(), zip_source_buffer(archive, bytes.data(), bytes.size(), 0), ZIP_FL_ENC_UTF_8);
  }
  zip_close(archive);
  return read_text(path);
}

// A .npy file of version 1, 2 or 3 around a header text.
std::string npy_of(std::string header, std::string_view data, char version = 1) {
  header += '\n';
  std::string bytes = std::string("\x93NUMPY") + version + '\0';
  for (std::size_t i = 0; i < (version == 1 ? 2u : 4u); ++i) bytes += static_cast<char>(header.size() >> (8 * i));
  return bytes + header + std::string(data);
}

constexpr const char* kTwoFloats = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }";

}  // namespace

class TestNpz : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void readsWhatItWrote();
  void writesTheHeaderOfNumPy_data();
  void writesTheHeaderOfNumPy();
  void keepsOtherArraysWhenAdding();
  void readsDeflatedEntriesOfEveryVersion_data();
  void readsDeflatedEntriesOfEveryVersion();
  void listsButRefusesWhatItCannotRead_data();
  void listsButRefusesWhatItCannotRead();
  void refusesDamagedFiles_data();
  void refusesDamagedFiles();
  void refusesTheFileCutAtAnyByte();
  void noticesAWrongChecksum();
  void refusesToWriteWrongArrays();
  void leavesTheOldFileWhenItIsDamaged();
};

void TestNpz::readsWhatItWrote() {
  const TemporaryFolder folder;
  const auto path = folder.path() / from_utf8("köln_0100x0070_anima.npz");
  const std::vector<float> latents = {1.0f, -2.5f, 3.0f, 4.0f, 5.0f, 6.0f};
  const std::vector<std::int64_t> size = {100, 70};
  const std::vector<double> crop = {0.5};
  const std::vector<TensorToWrite> arrays = {{"latents_2x3", DType::F32, {1, 2, 3}, bytes_of(latents)},
                                             {"size", DType::I64, {2}, bytes_of(size)},
                                             {"rate", DType::F64, {}, bytes_of(crop)},
                                             {"none", DType::U8, {0, 4}, {}}};
  write_npz(path, arrays);

  const NpzFile file(path);
  QCOMPARE(file.entries().size(), 4u);
  QCOMPARE(file.entries()[0].name, std::string("latents_2x3"));
  QCOMPARE(file.find("latents_2x3")->shape, (std::vector<std::int64_t>{1, 2, 3}));
  QCOMPARE(values_of<float>(file.read("latents_2x3")), latents);
  QCOMPARE(values_of<std::int64_t>(file.read("size")), size);
  QCOMPARE(values_of<double>(file.read("rate")), crop);
  QCOMPARE(file.read("rate").shape.size(), 0u);
  QCOMPARE(file.read("none").shape, (std::vector<std::int64_t>{0, 4}));
  QVERIFY(file.find("latents") == nullptr);
  QVERIFY(QString::fromStdString(message_of([&] { file.read("latents"); })).contains("it is not there"));

  const std::string first = read_text(path);
  write_npz(path, arrays);
  QVERIFY(read_text(path) == first);
}

void TestNpz::writesTheHeaderOfNumPy_data() {
  QTest::addColumn<QString>("shape");
  QTest::addColumn<QString>("text");
  QTest::newRow("scalar") << ""
                          << "{'descr': '<f4', 'fortran_order': False, 'shape': (), }";
  QTest::newRow("vector") << "5"
                          << "{'descr': '<f4', 'fortran_order': False, 'shape': (5,), }";
  QTest::newRow("cube") << "16 4 6"
                        << "{'descr': '<f4', 'fortran_order': False, 'shape': (16, 4, 6), }";
}

void TestNpz::writesTheHeaderOfNumPy() {
  QFETCH(QString, shape);
  QFETCH(QString, text);
  std::vector<std::int64_t> extents;
  for (const QString& extent : shape.split(' ', Qt::SkipEmptyParts)) extents.push_back(extent.toLongLong());
  const std::string header = npy_header(DType::F32, extents);
  QCOMPARE(header.size() % 64, 0u);
  QCOMPARE(QString::fromStdString(header.substr(10)).trimmed(), text);
  const NpyHeader parsed = parse_npy_header(std::as_bytes(std::span(header)));
  QCOMPARE(parsed.shape, extents);
  QCOMPARE(parsed.data_begin, header.size());
}

void TestNpz::keepsOtherArraysWhenAdding() {
  const TemporaryFolder folder;
  const auto path = folder.path() / "a.npz";
  const std::string objects = npy_of("{'descr': '|O', 'fortran_order': False, 'shape': (1,), }", "pickle");
  folder.write("a.npz", zip_of({{"kept.npy", npy_of(kTwoFloats, "12345678")},
                                {"old.npy", npy_of(kTwoFloats, "abcdefgh")},
                                {"objects.npy", objects},
                                {"note.txt", "hello"}},
                               folder.path() / "zip"));
  const std::vector<std::uint8_t> three = {1, 2, 3};
  add_to_npz(path, std::vector<TensorToWrite>{{"new", DType::U8, {3}, bytes_of(three)},
                                              {"old", DType::U8, {1, 3}, bytes_of(three)}});
  const NpzFile file(path);
  std::vector<std::string> names;
  for (const NpzEntry& entry : file.entries()) names.push_back(entry.name);
  QCOMPARE(names, (std::vector<std::string>{"kept", "old", "objects", "new"}));
  QCOMPARE(values_of<std::uint8_t>(file.read("old")), three);
  QVERIFY(std::ranges::equal(file.read("kept").bytes, std::as_bytes(std::span("12345678", 8))));
  const QByteArray bytes = QByteArray::fromStdString(read_text(path));
  QVERIFY(bytes.contains(QByteArray::fromStdString(objects)));
  QVERIFY(bytes.contains("note.txt") && bytes.contains("hello"));

  add_to_npz(folder.path() / "b.npz", std::vector<TensorToWrite>{{"new", DType::U8, {3}, bytes_of(three)}});
  QCOMPARE(NpzFile(folder.path() / "b.npz").entries().size(), 1u);
}

void TestNpz::readsDeflatedEntriesOfEveryVersion_data() {
  QTest::addColumn<int>("version");
  QTest::addColumn<QString>("header");
  QTest::newRow("1.0") << 1 << kTwoFloats;
  QTest::newRow("2.0") << 2 << kTwoFloats;
  QTest::newRow("3.0") << 3 << kTwoFloats;
  QTest::newRow("other order and quotes") << 1 << R"({"shape":(2,),"fortran_order":False,"descr":"=f4"})";
  QTest::newRow("Fortran order of one dimension") << 1 << "{'descr': '<f4', 'fortran_order': True, 'shape': (2,), }";
}

void TestNpz::readsDeflatedEntriesOfEveryVersion() {
  QFETCH(int, version);
  QFETCH(QString, header);
  const TemporaryFolder folder;
  const std::string data(8, '\0');
  zip_of({{"a.npy", npy_of(header.toStdString(), data, static_cast<char>(version))}}, folder.path() / "a.npz");
  const NpzArray array = NpzFile(folder.path() / "a.npz").read("a");
  QVERIFY(array.dtype == DType::F32);
  QCOMPARE(values_of<float>(array), (std::vector<float>{0.0f, 0.0f}));
}

void TestNpz::listsButRefusesWhatItCannotRead_data() {
  QTest::addColumn<QString>("header");
  QTest::addColumn<QString>("reason");
  QTest::newRow("objects") << "{'descr': '|O', 'fortran_order': False, 'shape': (2,), }"
                           << "Python objects";
  QTest::newRow("Fortran") << "{'descr': '<f4', 'fortran_order': True, 'shape': (2, 1), }"
                           << "Fortran order";
  QTest::newRow("big endian") << "{'descr': '>f4', 'fortran_order': False, 'shape': (2,), }"
                              << "type '>f4'";
  QTest::newRow("text") << "{'descr': '<U1', 'fortran_order': False, 'shape': (2,), }"
                        << "type '<U1'";
  QTest::newRow("records")
      << "{'descr': [('a', '<f4'), ('b', [('c', '<i4')])], 'fortran_order': False, 'shape': (1,), }"
      << "records";
}

void TestNpz::listsButRefusesWhatItCannotRead() {
  QFETCH(QString, header);
  QFETCH(QString, reason);
  const TemporaryFolder folder;
  zip_of({{"bad.npy", npy_of(header.toStdString(), "12345678")}, {"good.npy", npy_of(kTwoFloats, "12345678")}},
         folder.path() / "a.npz");
  const NpzFile file(folder.path() / "a.npz");
  QVERIFY(!file.find("bad")->dtype);
  const QString message = QString::fromStdString(message_of([&] { file.read("bad"); }));
  QVERIFY2(message.contains(reason) && message.contains("'bad'") && message.contains("a.npz"), qPrintable(message));
  QCOMPARE(file.read("good").bytes.size(), 8u);
}

void TestNpz::refusesDamagedFiles_data() {
  QTest::addColumn<QByteArray>("entry");
  QTest::addColumn<QString>("reason");
  const auto row = [](const char* name, const std::string& entry, const char* reason) {
    QTest::newRow(name) << QByteArray::fromStdString(entry) << QString(reason);
  };
  row("no magic", "hello, I am no array", "not an array in .npy format");
  row("version 9", npy_of(kTwoFloats, "12345678", 9), "version 9.0");
  row("header cut", npy_of(kTwoFloats, "").substr(0, 40), "header is cut off");
  row("too few bytes", npy_of(kTwoFloats, "1234567"), "its shape needs 8 bytes, it has 7");
  row("too many bytes", npy_of(kTwoFloats, "123456789"), "its shape needs 8 bytes, it has 9");
  row("huge shape", npy_of("{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 4), }", "12"),
      "beyond any file");
  row("negative", npy_of("{'descr': '<f4', 'fortran_order': False, 'shape': (-2,), }", "12345678"),
      "a dimension expected");
  row("no shape", npy_of("{'descr': '<f4', 'fortran_order': False}", "12345678"), "lacks");
  row("not closed", npy_of("{'descr': [", "12345678"), "']' expected");
  row("code", npy_of("__import__('os')", ""), "'{' expected");
}

void TestNpz::refusesDamagedFiles() {
  QFETCH(QByteArray, entry);
  QFETCH(QString, reason);
  const TemporaryFolder folder;
  zip_of({{"bad.npy", entry.toStdString()}}, folder.path() / "a.npz");
  const QString message = QString::fromStdString(message_of([&] { NpzFile(folder.path() / "a.npz"); }));
  QVERIFY2(message.contains(reason) && message.contains("array 'bad'") && message.contains("a.npz"),
           qPrintable(message));
}

void TestNpz::refusesTheFileCutAtAnyByte() {
  const TemporaryFolder folder;
  const std::string whole = zip_of({{"a.npy", npy_of(kTwoFloats, "12345678")}}, folder.path() / "a.npz");
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const auto path = folder.write(format("part{}", size), std::string_view(whole).substr(0, size));
    QVERIFY_EXCEPTION_THROWN(NpzFile{path}, Error);
  }
}

void TestNpz::noticesAWrongChecksum() {
  const TemporaryFolder folder;
  const std::vector<std::uint8_t> values(100'000, 7);
  write_npz(folder.path() / "a.npz", std::vector<TensorToWrite>{{"a", DType::U8, {100'000}, bytes_of(values)}});
  std::string bytes = read_text(folder.path() / "a.npz");
  bytes[90'000] ^= 1;
  const NpzFile file(folder.write("b.npz", bytes));
  const std::string message = message_of([&] { file.read("a"); });
  QVERIFY2(QString::fromStdString(message).contains("CRC"), message.c_str());
}

void TestNpz::refusesToWriteWrongArrays() {
  const TemporaryFolder folder;
  const auto path = folder.path() / "a.npz";
  const std::vector<std::uint8_t> two = {1, 2};
  const auto refused = [&](const std::vector<TensorToWrite>& arrays) {
    return QString::fromStdString(message_of([&] { write_npz(path, arrays); }));
  };
  QVERIFY(refused({{"a", DType::U8, {3}, bytes_of(two)}}).contains("was given 2 bytes"));
  QVERIFY(refused({{"a", DType::U8, {2}, bytes_of(two)}, {"a", DType::I8, {2}, bytes_of(two)}}).contains("two arrays"));
  QVERIFY(refused({{"a", DType::BF16, {1}, bytes_of(two)}}).contains("BF16"));
  QVERIFY(refused({}).contains("no arrays"));
  QVERIFY(std::filesystem::is_empty(folder.path()));
}

void TestNpz::leavesTheOldFileWhenItIsDamaged() {
  const TemporaryFolder folder;
  const auto path = folder.write("a.npz", "PK but damaged");
  const std::vector<std::uint8_t> two = {1, 2};
  const std::string message = message_of([&] {
    add_to_npz(path, std::vector<TensorToWrite>{{"a", DType::U8, {2}, bytes_of(two)}});
  });
  QVERIFY2(QString::fromStdString(message).contains("a.npz"), message.c_str());
  QCOMPARE(read_text(path), std::string("PK but damaged"));
}

LATHE_TEST(TestNpz);

#include "npz_test.moc"
