#include "core/text/utf8.h"

#include "core/base/error.h"
#include "tests/support/test_main.h"

using namespace lathe;
using namespace lathe::text;

class TestUtf8 : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void findsTheFirstMalformedByte_data();
  void findsTheFirstMalformedByte();
  void writesEveryCodePointAsQtDoes();
  void saysWhatIsNotUtf8();
  void stripsWhatPythonStrips();
  void splitsAsPythonDoes();
  void replacesFromLeftToRight();
};

void TestUtf8::findsTheFirstMalformedByte_data() {
  QTest::addColumn<QByteArray>("bytes");
  QTest::addColumn<int>("offset");  // -1: valid
  QTest::newRow("empty") << QByteArray("") << -1;
  QTest::newRow("ascii and NUL") << QByteArray("a\0b", 3) << -1;
  QTest::newRow("largest") << QByteArray("\xF4\x8F\xBF\xBF") << -1;
  QTest::newRow("noncharacter") << QByteArray("\xEF\xBF\xBF") << -1;
  QTest::newRow("too large") << QByteArray("a\xF4\x90\x80\x80") << 1;
  QTest::newRow("surrogate") << QByteArray("\xED\xA0\x80") << 0;
  QTest::newRow("before the surrogates") << QByteArray("\xED\x9F\xBF") << -1;
  QTest::newRow("overlong slash") << QByteArray("ab\xC0\xAF") << 2;
  QTest::newRow("overlong of three") << QByteArray("\xE0\x9F\xBF") << 0;
  QTest::newRow("overlong of four") << QByteArray("\xF0\x8F\xBF\xBF") << 0;
  QTest::newRow("cut short") << QByteArray("caf\xC3") << 3;
  QTest::newRow("cut short inside") << QByteArray(
                                           "\xE2\x82"
                                           "a")
                                    << 0;
  QTest::newRow("stray continuation") << QByteArray("\xC3\xA9\x80") << 2;
  QTest::newRow("Latin-1") << QByteArray("caf\xE9!") << 3;
}

void TestUtf8::findsTheFirstMalformedByte() {
  QFETCH(QByteArray, bytes);
  QFETCH(int, offset);
  const auto found = first_invalid_utf8({bytes.data(), static_cast<std::size_t>(bytes.size())});
  QCOMPARE(found ? static_cast<int>(*found) : -1, offset);
}

void TestUtf8::writesEveryCodePointAsQtDoes() {
  for (char32_t c = 0; c <= 0x10FFFF; ++c) {
    if (c >= 0xD800 && c <= 0xDFFF) continue;
    const QString text = c < 0x10000 ? QString(QChar(static_cast<char16_t>(c)))
                                     : QString(QChar::highSurrogate(c)) + QChar::lowSurrogate(c);
    const std::string bytes = text.toStdString();
    const CodePoint decoded = decode(bytes, 0);
    if (decoded.value != c || decoded.size != bytes.size()) QFAIL(qPrintable(QString::number(c, 16)));
  }
}

void TestUtf8::saysWhatIsNotUtf8() {
  try {
    require_utf8("caf\xE9", "the caption file 'a.txt'");
    QFAIL("no error");
  } catch (const Error& error) {
    QCOMPARE(error.kind(), ErrorKind::dataset);
    QVERIFY2(QString(error.what()).contains("'a.txt' is not valid UTF-8: byte 0xe9 at offset 3"), error.what());
  }
}

void TestUtf8::stripsWhatPythonStrips() {
  QCOMPARE(python_strip(" \t\n\v\f\r\x1C\x1F\u0085\u00A0\u1680\u2003\u2028\u202F\u205F\u3000x y\u3000 "),
           std::string_view("x y"));
  QCOMPARE(python_strip("\uFEFFx\u200B"), std::string_view("\uFEFFx\u200B"));
  QCOMPARE(python_strip("\u3000"), std::string_view(""));
  QCOMPARE(python_strip("x\x80"), std::string_view("x\x80"));  // not valid, but no crash
}

void TestUtf8::splitsAsPythonDoes() {
  using Parts = std::vector<std::string_view>;
  QCOMPARE(python_split("", ","), Parts{""});
  QCOMPARE(python_split("a,,b,", ","), (Parts{"a", "", "b", ""}));
  QCOMPARE(python_split("aXXXb", "XX"), (Parts{"a", "Xb"}));
}

void TestUtf8::replacesFromLeftToRight() {
  QCOMPARE(replace_all("{{{", "{{", "x"), std::string("x{"));
  QCOMPARE(replace_all("aa", "a", "aa"), std::string("aaaa"));
  QCOMPARE(replace_all("ab", "", "x"), std::string("ab"));
}

LATHE_TEST(TestUtf8);
#include "utf8_test.moc"
