#include "core/dataset/crop.h"

#include "core/base/error.h"
#include "tests/support/test_main.h"

using namespace lathe;
using namespace lathe::dataset;

class TestCrop : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void takesTheCentreAndRoundsDown();
  void randomDrawsOnlyWhereThereIsSurplus();
  void ltrbHasTheKnownValues_data();
  void ltrbHasTheKnownValues();
  void aBucketThatDoesNotFitIsAnError();
};

void TestCrop::takesTheCentreAndRoundsDown() {
  QVERIFY((centre_crop({{1344, 768}, {1365, 768}, 0}) == Offset{10, 0}));
  QVERIFY((centre_crop({{1024, 1024}, {1024, 1026}, 0}) == Offset{0, 1}));
}

void TestCrop::randomDrawsOnlyWhereThereIsSurplus() {
  PythonRandom random(0), expected(0);
  const Offset offset = random_crop({{512, 512}, {512, 600}, 0}, random);
  QCOMPARE(offset.x, 0);
  QCOMPARE(offset.y, static_cast<int>(expected.randint(0, 88)));
  QCOMPARE(random.bits32(), expected.bits32());  // nothing more was drawn
}

void TestCrop::ltrbHasTheKnownValues_data() {
  QTest::addColumn<int>("bucket_width");
  QTest::addColumn<int>("bucket_height");
  QTest::addColumn<int>("width");
  QTest::addColumn<int>("height");
  QTest::addColumn<QList<double>>("expected");
  QTest::newRow("1920x1080") << 1344 << 768 << 1920 << 1080 << QList<double>{0, 6, 1344, 762};
  QTest::newRow("3000x2000") << 1216 << 832 << 3000 << 2000 << QList<double>{0, 10, 1216, 820.6666666666666};
  QTest::newRow("5000x1000") << 2048 << 384 << 5000 << 1000 << QList<double>{64, 0, 1984, 384};
  QTest::newRow("37x50") << 896 << 1152 << 37 << 50 << QList<double>{21, 0, 873.48, 1152};
}

void TestCrop::ltrbHasTheKnownValues() {
  QFETCH(int, bucket_width);
  QFETCH(int, bucket_height);
  QFETCH(int, width);
  QFETCH(int, height);
  QFETCH(QList<double>, expected);
  const auto ltrb = crop_ltrb({bucket_width, bucket_height}, {width, height});
  for (int i = 0; i < 4; ++i) QCOMPARE(ltrb[static_cast<std::size_t>(i)], expected[i]);
}

void TestCrop::aBucketThatDoesNotFitIsAnError() {
  QVERIFY_EXCEPTION_THROWN(centre_crop({{512, 512}, {511, 600}, 0}), Error);
}

LATHE_TEST(TestCrop);
#include "crop_test.moc"
