#include "core/text/charsmap.h"

#include <random>

#include "core/base/error.h"
#include "tests/support/test_main.h"

using namespace lathe;
using lathe::text::Charsmap;

class TestCharsmap : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void replacesTheClusterByItsShortestEntry();
  void refusesADamagedBlob_data();
  void refusesADamagedBlob();
  void readsNothingOutsideADamagedTable();
};

namespace {

void append_u32(std::string& bytes, std::uint32_t value) {
  for (int i = 0; i < 4; ++i) bytes.push_back(static_cast<char>((value >> (8 * i)) & 0xFF));
}

std::string blob(const std::vector<std::uint32_t>& units, std::string_view replacements) {
  std::string bytes;
  append_u32(bytes, static_cast<std::uint32_t>(4 * units.size()));
  for (const std::uint32_t unit : units) append_u32(bytes, unit);
  return bytes + std::string(replacements);
}

// "a" → "X". Unit of a byte: its label, the leaf flag, the distance to the unit of its value in bits 10 and up.
std::string a_becomes_x() {
  std::vector<std::uint32_t> units(256, 0);
  units['a'] = 'a' | 1u << 8 | 1u << 10;
  units['a' ^ 1] = 0x80000000u | 0;  // value 0: the replacement at offset 0
  return blob(units, std::string_view("X\0", 2));
}

}  // namespace

void TestCharsmap::replacesTheClusterByItsShortestEntry() {
  const Charsmap map(a_becomes_x());
  QCOMPARE(map.normalize("bab"), std::string("bXb"));
  QCOMPARE(map.normalize("a\u0301b"), std::string("Xb"));  // 3 bytes: the whole cluster goes
  QCOMPARE(map.normalize("a\u0301\u0302\u0303b"), std::string("X\u0301\u0302\u0303b"));  // 7 bytes: each alone
  QCOMPARE(map.normalize(""), std::string());
}

void TestCharsmap::refusesADamagedBlob_data() {
  QTest::addColumn<QByteArray>("bytes");
  QTest::newRow("empty") << QByteArray();
  QTest::newRow("no table") << QByteArray(4, '\0');
  QTest::newRow("cut short") << QByteArray::fromStdString(a_becomes_x().substr(0, 100));
  QTest::newRow("odd size") << QByteArray("\x05\0\0\0abcde", 9);
}

void TestCharsmap::refusesADamagedBlob() {
  QFETCH(QByteArray, bytes);
  QVERIFY_EXCEPTION_THROWN(Charsmap(bytes.toStdString()), Error);
}

void TestCharsmap::readsNothingOutsideADamagedTable() {
  std::mt19937 random(1);
  for (int round = 0; round < 2000; ++round) {
    std::vector<std::uint32_t> units(1 + random() % 300);
    for (std::uint32_t& unit : units) unit = random() % 3 == 0 ? static_cast<std::uint32_t>(random()) : random() % 2048;
    const Charsmap map(blob(units, "abc"));
    map.normalize("abc \u0301\u00e9 xyz \U0001F600");
  }
}

LATHE_TEST(TestCharsmap);
#include "charsmap_test.moc"
