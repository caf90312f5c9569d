#include "core/compile/ir/size.h"

#include <array>

#include "core/base/error.h"
#include "tests/support/test_main.h"

using lathe::ir::parse_size;
using lathe::ir::print;
using lathe::ir::Size;

class TestSize : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void readsBackWhatItPrints_data();
  void readsBackWhatItPrints();
  void isCanonical();
  void evaluatesOverACommonDenominator();
  void dividesOnlyWhereItComesOut();
};

void TestSize::readsBackWhatItPrints_data() {
  QTest::addColumn<QString>("text");
  for (const char* text : {"0", "12", "-3", "s0", "s0*s1", "-s2 + 4", "3*s0*s1/2 - 1", "s1 + s0 + 7"})
    QTest::newRow(text) << text;
}

void TestSize::readsBackWhatItPrints() {
  QFETCH(QString, text);
  const auto size = parse_size(text.toStdString());
  QVERIFY(size.has_value());
  QCOMPARE(QString::fromStdString(print(*size)), text);
}

void TestSize::isCanonical() {
  const Size a = Size::symbol(0);
  const Size b = Size::symbol(1);
  QVERIFY(a * b == b * a);
  QVERIFY(a + b - a == b);
  QVERIFY((a - a).constant() == 0);
  QVERIFY(Size(2) * Size(3) == Size(6));
}

void TestSize::evaluatesOverACommonDenominator() {
  const std::array<std::int64_t, 1> three = {3};
  QCOMPARE(parse_size("s0/2 + 1/2")->evaluate(three), std::int64_t{2});
  QVERIFY_EXCEPTION_THROWN(parse_size("s0/2")->evaluate(three), lathe::Error);
}

void TestSize::dividesOnlyWhereItComesOut() {
  const Size product = Size::symbol(0) * Size::symbol(1) * Size(4);
  QVERIFY(product.divided_by(Size::symbol(1)) == Size::symbol(0) * Size(4));
  QVERIFY(!product.divided_by(Size::symbol(2)).has_value());
  QVERIFY(!Size(7).divided_by(2).has_value());
}

LATHE_TEST(TestSize);
#include "size_test.moc"
