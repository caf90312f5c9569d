#include "core/dataset/buckets.h"

#include "core/base/error.h"
#include "tests/support/test_main.h"

using namespace lathe;
using namespace lathe::dataset;

namespace {

config::DatasetConfig bucketed(int side, std::int64_t smallest, std::int64_t largest) {
  config::DatasetConfig config;
  config.width = config.height = side;
  config.enable_bucket = true;
  config.min_bucket_reso = smallest;
  config.max_bucket_reso = largest;
  return config;
}

}  // namespace

class TestBuckets : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void listsHaveTheKnownLengths_data();
  void listsHaveTheKnownLengths();
  void listOf512IsTheKnownOne();
  void limitsMoveOutwardToTheStep();
  void anExactSizeTakesItsOwnBucket();
  void withoutBucketsTheResolutionIsTheOnlyOne();
  void aSideBelowTheStepIsAClearError();
  void aResolutionOutsideTheLimitsIsRefused();
  void aLimitBelowOneStepListsNoEmptyBucket();
};

void TestBuckets::listsHaveTheKnownLengths_data() {
  QTest::addColumn<int>("width");
  QTest::addColumn<int>("height");
  QTest::addColumn<int>("smallest");
  QTest::addColumn<int>("largest");
  QTest::addColumn<int>("step");
  QTest::addColumn<int>("count");
  QTest::newRow("1024") << 1024 << 1024 << 256 << 2048 << 64 << 41;
  QTest::newRow("1024, the default limits") << 1024 << 1024 << 256 << 1024 << 64 << 25;
  QTest::newRow("512") << 512 << 512 << 256 << 1024 << 64 << 17;
  QTest::newRow("512, larger limit") << 512 << 512 << 256 << 2048 << 64 << 17;
  QTest::newRow("768") << 768 << 768 << 256 << 1536 << 64 << 29;
  QTest::newRow("not square") << 512 << 768 << 256 << 1024 << 64 << 19;
  QTest::newRow("from 512") << 1024 << 1024 << 512 << 2048 << 64 << 33;
  QTest::newRow("step 32") << 1024 << 1024 << 256 << 2048 << 32 << 81;
}

void TestBuckets::listsHaveTheKnownLengths() {
  QFETCH(int, width);
  QFETCH(int, height);
  QFETCH(int, smallest);
  QFETCH(int, largest);
  QFETCH(int, step);
  QFETCH(int, count);
  QCOMPARE(bucket_list({width, height}, {smallest, largest}, step).size(), static_cast<std::size_t>(count));
}

void TestBuckets::listOf512IsTheKnownOne() {
  const std::vector<Size> expected = {{256, 832}, {256, 896}, {256, 960}, {256, 1024}, {320, 704}, {320, 768},
                                      {384, 640}, {448, 576}, {512, 512}, {576, 448},  {640, 384}, {704, 320},
                                      {768, 320}, {832, 256}, {896, 256}, {960, 256},  {1024, 256}};
  QVERIFY(bucket_list({512, 512}, {256, 1024}, 64) == expected);
}

void TestBuckets::limitsMoveOutwardToTheStep() {
  QVERIFY((adjusted_limits(250, 2000, 64) == BucketLimits{192, 2048}));
  QVERIFY((adjusted_limits(256, 1024, 64) == BucketLimits{256, 1024}));
}

void TestBuckets::anExactSizeTakesItsOwnBucket() {
  // 640x384 has a neighbour of the same list with another ratio; the exact size wins without a scale.
  const Fit fit = BucketChooser(bucketed(512, 256, 1024)).fit({640, 384});
  QVERIFY(fit.bucket == Size(640, 384) && fit.resized == Size(640, 384));
  QCOMPARE(fit.aspect_error, 0.0);
}

void TestBuckets::withoutBucketsTheResolutionIsTheOnlyOne() {
  config::DatasetConfig config;
  config.width = 640;
  config.height = 896;
  const Fit fit = BucketChooser(config).fit({1000, 1000});
  QVERIFY(fit.bucket == Size(640, 896) && fit.resized == Size(896, 896));
}

void TestBuckets::aSideBelowTheStepIsAClearError() {
  config::DatasetConfig config = bucketed(1024, 256, 2048);
  config.bucket_no_upscale = true;
  try {
    static_cast<void>(BucketChooser(config).fit({37, 50}));
    QFAIL("no error");
  } catch (const Error& error) {
    QCOMPARE(error.kind(), ErrorKind::dataset);
    QVERIFY(QString::fromStdString(error.message()).contains("37x50"));
    QVERIFY(QString::fromStdString(error.message()).contains("bucket_reso_steps"));
  }
}

void TestBuckets::aResolutionOutsideTheLimitsIsRefused() {
  QVERIFY_EXCEPTION_THROWN(BucketChooser(bucketed(2048, 256, 1024)), Error);
  QVERIFY_EXCEPTION_THROWN(BucketChooser(bucketed(128, 256, 1024)), Error);
  QVERIFY_EXCEPTION_THROWN(BucketChooser(config::DatasetConfig{}), Error);
}

void TestBuckets::aLimitBelowOneStepListsNoEmptyBucket() {
  for (const Size bucket : bucket_list({64, 64}, {0, 128}, 32)) QVERIFY(bucket.width > 0 && bucket.height > 0);
}

LATHE_TEST(TestBuckets);
#include "buckets_test.moc"
