#include "core/io/safetensors_header.h"

#include <algorithm>
#include <ctime>

#include "core/base/error.h"
#include "core/io/safetensors.h"
#include "tests/core/io/io_fixture.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/test_main.h"

using namespace lathe;
using namespace lathe::io;
using namespace lathe::testing;

class TestSafetensorsHeader : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void refusesBrokenFilesInOneLine_data();
  void refusesBrokenFilesInOneLine();
  void refusesALargeHostileHeaderQuickly_data();
  void refusesALargeHostileHeaderQuickly();
  void acceptsWhatTheLibraryAccepts_data();
  void acceptsWhatTheLibraryAccepts();
};

void TestSafetensorsHeader::refusesBrokenFilesInOneLine_data() {
  QTest::addColumn<QByteArray>("content");
  QTest::addColumn<QString>("reason");
  const auto row = [](const char* name, const std::string& content, const char* reason) {
    QTest::newRow(name) << QByteArray(content.data(), static_cast<qsizetype>(content.size())) << QString(reason);
  };
  const std::string good = tensor("a", "4", "0,4");
  row("empty file", "", "it has 0 bytes, too few for a header");
  row("seven bytes", "1234567", "it has 7 bytes, too few for a header");
  row("length 2^63", length_bytes(std::uint64_t{1} << 63) + "{}", "its header claims 9223372036854775808 bytes");
  row("length over 100 MB", length_bytes(100'000'001) + "{}", "more than the 100000000 that are allowed");
  row("length beyond the file", length_bytes(3) + "{}", "its header claims 3 bytes, the file has 2");
  row("negative offset", raw_file("{" + tensor("a", "4", "-1,3") + "}", 4), "tensor 'a' has a negative offset: -1");
  row("negative dimension", raw_file("{" + tensor("a", "-4", "0,4") + "}", 4), "negative dimension: -4");
  row("offsets overlap", raw_file("{" + good + "," + tensor("b", "4", "2,6") + "}", 6), "tensors 'a' and 'b' overlap");
  row("same bytes twice", raw_file("{" + good + "," + tensor("b", "4", "0,4") + "}", 4), "tensors 'a' and 'b' overlap");
  row("gap", raw_file("{" + good + "," + tensor("b", "4", "6,10") + "}", 10),
      "a gap of 2 bytes lies before tensor 'b'");
  row("gap at the start", raw_file("{" + tensor("a", "4", "1,5") + "}", 5), "expected offset 0, found 1");
  row("end before begin", raw_file("{" + tensor("a", "4", "4,0") + "}", 4), "ends at 0 before it begins at 4");
  row("product overflow", raw_file("{" + tensor("a", "4294967296,4294967296", "0,0") + "}", 0), "beyond any file");
  row("product overflow to the right size", raw_file("{" + tensor("a", "4611686018427387905", "0,4", "F32") + "}", 4),
      "beyond any file");
  row("dimension over 2^63", raw_file("{" + tensor("a", "9223372036854775808", "0,4") + "}", 4), "below 2^63");
  row("dimension over 2^64", raw_file("{" + tensor("a", "99999999999999999999", "0,4") + "}", 4), "below 2^63");
  row("fraction", raw_file("{" + tensor("a", "4.0", "0,4") + "}", 4), "no whole number");
  row("offset as text", raw_file("{" + tensor("a", "4", "\"0\",4") + "}", 4), "no whole number");
  row("shape does not fit", raw_file("{" + tensor("a", "3", "0,4") + "}", 4),
      "tensor 'a' has 4 bytes, its type U8 and its shape need 3");
  row("one offset", raw_file("{" + tensor("a", "4", "0") + "}", 4), "has 1 offsets, expected 2");
  row("three offsets", raw_file("{" + tensor("a", "4", "0,4,8") + "}", 4), "has 3 offsets, expected 2");
  row("same name twice", raw_file("{" + good + "," + tensor("a", "2", "4,6") + "}", 6), "duplicate tensor name 'a'");
  row("same name escaped", raw_file("{" + good + "," + tensor("\\u0061", "2", "4,6") + "}", 6),
      "duplicate tensor name 'a'");
  row("same field twice", raw_file(R"({"a":{"dtype":"U8","dtype":"U8","shape":[4],"data_offsets":[0,4]}})", 4),
      "two fields 'dtype'");
  row("no dtype", raw_file(R"({"a":{"shape":[4],"data_offsets":[0,4]}})", 4), "tensor 'a' has no 'dtype'");
  row("no shape", raw_file(R"({"a":{"dtype":"U8","data_offsets":[0,4]}})", 4), "tensor 'a' has no 'shape'");
  row("no offsets", raw_file(R"({"a":{"dtype":"U8","shape":[4]}})", 4), "tensor 'a' has no 'data_offsets'");
  row("unknown type", raw_file("{" + tensor("a", "4", "0,4", "Q4_K") + "}", 4), "unknown type 'Q4_K'");
  row("type is a number", raw_file(R"({"a":{"dtype":8,"shape":[4],"data_offsets":[0,4]}})", 4), "field 'dtype'");
  row("deep JSON", raw_file(R"({"a":)" + std::string(50'000, '[') + std::string(50'000, ']') + "}", 0), "nested");
  row("deep metadata", raw_file(R"({"__metadata__":{"a":{"b":"c"}}})", 0), "nested");
  row("metadata is a number", raw_file(R"({"__metadata__":{"a":1}})", 0), "metadata 'a' is not a text");
  row("metadata is a list", raw_file(R"({"__metadata__":[]})", 0), "nested too deeply or is no tensor");
  row("a list", raw_file("[]", 0), "does not start with '{'");
  row("leading space", raw_file(" {}", 0), "does not start with '{'");
  row("not JSON", raw_file("{a}", 0), "the header is not JSON (byte 2 of it)");
  row("text after the object", raw_file("{}{}", 0), "the header is not JSON");
  row("zero byte", raw_file(std::string("{}\0x", 4), 0), "zero byte");
  row("not UTF-8", raw_file("{" + tensor("a\xff", "4", "0,4") + "}", 4), "not UTF-8");
  row("overlong UTF-8", raw_file("{" + tensor("\xc0\xaf", "4", "0,4") + "}", 4), "not UTF-8");
  row("cut off", raw_file("{" + good + "}", 3), "it is cut off");
  row("trailing bytes", raw_file("{" + good + "}", 20), "expected size 65, real size 81");
  row("name with a line break", raw_file("{" + tensor("a\\nb", "3", "0,4") + "}", 4), "tensor 'a?b' has 4 bytes");
  row("endless name", raw_file("{" + tensor(std::string(100'000, 'x'), "3", "0,4") + "}", 4), "…' has 4 bytes");
}

void TestSafetensorsHeader::refusesBrokenFilesInOneLine() {
  QFETCH(QByteArray, content);
  QFETCH(QString, reason);
  const TemporaryFolder folder;
  const auto path =
      folder.write("broken.safetensors", std::string_view(content.data(), static_cast<std::size_t>(content.size())));
  try {
    const SafetensorsFile file(path);
    QFAIL("accepted");
  } catch (const Error& error) {
    const QString message = QString::fromStdString(error.message());
    QVERIFY(error.kind() == ErrorKind::format);
    QVERIFY2(message.contains(reason), qPrintable(message));
    QVERIFY(message.contains("broken.safetensors"));
    QVERIFY(!message.contains('\n'));
    QVERIFY2(message.size() < 400, qPrintable(message));
  }
}

void TestSafetensorsHeader::refusesALargeHostileHeaderQuickly_data() {
  QTest::addColumn<QByteArray>("header");
  QTest::newRow("nesting") << QByteArray("{\"a\":") + QByteArray(40 << 20, '[');
  QTest::newRow("one endless text") << QByteArray("{\"") + QByteArray(40 << 20, 'x');
  QTest::newRow("escapes to the end") << QByteArray("{\"") + QByteArray(40 << 20, '\\');
}

void TestSafetensorsHeader::refusesALargeHostileHeaderQuickly() {
  QFETCH(QByteArray, header);
  const TemporaryFolder folder;
  const auto path = folder.write("a", raw_file({header.data(), static_cast<std::size_t>(header.size())}, 0));
  const std::clock_t start = std::clock();  // of this process: other work on the machine does not count
  QVERIFY_EXCEPTION_THROWN(SafetensorsFile{path}, Error);
  QVERIFY(std::clock() - start < CLOCKS_PER_SEC);
}

void TestSafetensorsHeader::acceptsWhatTheLibraryAccepts_data() {
  QTest::addColumn<QByteArray>("content");
  QTest::addColumn<int>("tensors");
  const auto row = [](const char* name, const std::string& content, int tensors) {
    QTest::newRow(name) << QByteArray(content.data(), static_cast<qsizetype>(content.size())) << tensors;
  };
  row("nothing in it", raw_file("{}", 0), 0);
  row("padding", raw_file("{}      ", 0), 0);
  row("metadata null", raw_file(R"({"__metadata__":null})", 0), 0);
  row("listed out of order", raw_file("{" + tensor("b", "4", "4,8") + "," + tensor("a", "4", "0,4") + "}", 8), 2);
  row("zero elements between",
      raw_file("{" + tensor("a", "4", "0,4") + "," + tensor("z", "0", "4,4") + "," + tensor("b", "1", "4,5") + "}", 5),
      3);
  row("an unknown plain field", raw_file(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4],"note":"x"}})", 4), 1);
}

void TestSafetensorsHeader::acceptsWhatTheLibraryAccepts() {
  QFETCH(QByteArray, content);
  QFETCH(int, tensors);
  const TemporaryFolder folder;
  const auto path = folder.write("a", std::string_view(content.data(), static_cast<std::size_t>(content.size())));
  const SafetensorsFile file(path);
  QCOMPARE(static_cast<int>(file.tensors().size()), tensors);
  QVERIFY(std::ranges::is_sorted(file.tensors(), {}, &TensorInfo::begin));
}

LATHE_TEST(TestSafetensorsHeader);
#include "safetensors_header_test.moc"
