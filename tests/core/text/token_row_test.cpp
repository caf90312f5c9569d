#include "core/text/token_row.h"

#include "tests/support/test_main.h"

using namespace lathe::text;

class TestTokenRow : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void fillsUpOnTheRight();
  void keepsWhatFitsExactly();
  void cutsToTheFirstIds();
  void endsACutRowWithTheEnd();
};

void TestTokenRow::fillsUpOnTheRight() {
  QCOMPARE(pad({5, 6}, 4, 9), (TokenRow{{5, 6, 9, 9}, {1, 1, 0, 0}}));
  QCOMPARE(pad({}, 2, 9), (TokenRow{{9, 9}, {0, 0}}));
}

void TestTokenRow::keepsWhatFitsExactly() {
  QCOMPARE(pad({5, 6, 1}, 3, 0, 1), (TokenRow{{5, 6, 1}, {1, 1, 1}}));
}

void TestTokenRow::cutsToTheFirstIds() {
  QCOMPARE(pad({5, 6, 7}, 2, 9), (TokenRow{{5, 6}, {1, 1}}));
}

void TestTokenRow::endsACutRowWithTheEnd() {
  QCOMPARE(pad({5, 6, 7, 1}, 3, 0, 1), (TokenRow{{5, 6, 1}, {1, 1, 1}}));
  QCOMPARE(pad({5, 1}, 0, 0, 1), TokenRow{});
}

LATHE_TEST(TestTokenRow);
#include "token_row_test.moc"
