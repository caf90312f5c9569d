#include "core/plan/shape_forecast.h"

#include <set>

#include "core/dataset/order.h"
#include "tests/support/test_main.h"

using namespace lathe;
using namespace lathe::plan;
using dataset::BucketRemainder;

namespace {

dataset::Dataset dataset_of(std::vector<std::pair<dataset::Size, std::size_t>> buckets, std::int64_t batch_size,
                            BucketRemainder remainder = BucketRemainder::smaller) {
  dataset::Dataset made;
  made.config.batch_size = batch_size;
  made.remainder = remainder;
  for (const auto& [size, count] : buckets) {
    dataset::Bucket& bucket = made.buckets.emplace_back(dataset::Bucket{size, {}});
    for (std::size_t i = 0; i < count; ++i) {
      bucket.items.push_back(made.images.size());
      made.images.emplace_back();
    }
  }
  return made;
}

QString text(const std::vector<ShapeForecast>& shapes) {
  QStringList all;
  for (const ShapeForecast& shape : shapes) {
    all << QString("%1x%2x%3:%4").arg(shape.batch).arg(shape.height).arg(shape.width).arg(shape.batches);
  }
  return all.join(' ');
}

}  // namespace

class TestShapeForecast : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void shapesCountFullAndShortBatches_data();
  void shapesCountFullAndShortBatches();
  void shapesAreThoseOfTheBatches();
  void datasetsShareShapes();
  void bucketsCountImagesAndItems();
  void compilesFollowTheSetting_data();
  void compilesFollowTheSetting();
};

void TestShapeForecast::shapesCountFullAndShortBatches_data() {
  QTest::addColumn<int>("remainder");
  QTest::addColumn<QString>("expected");
  QTest::newRow("smaller") << static_cast<int>(BucketRemainder::smaller) << "3x32x64:1 1x64x32:1 4x64x32:2";
  QTest::newRow("repeat") << static_cast<int>(BucketRemainder::repeat) << "4x32x64:1 4x64x32:3";
  QTest::newRow("drop") << static_cast<int>(BucketRemainder::drop) << "4x64x32:2";
}

void TestShapeForecast::shapesCountFullAndShortBatches() {
  QFETCH(int, remainder);
  const auto made = dataset_of({{{256, 512}, 9}, {{512, 256}, 3}}, 4, static_cast<BucketRemainder>(remainder));
  QTEST(text(shape_forecast({made})), "expected");
}

void TestShapeForecast::shapesAreThoseOfTheBatches() {
  for (const auto remainder : {BucketRemainder::smaller, BucketRemainder::repeat, BucketRemainder::drop}) {
    const std::vector<dataset::Dataset> datasets = {dataset_of({{{256, 512}, 9}, {{512, 256}, 3}}, 4, remainder),
                                                    dataset_of({{{512, 256}, 7}}, 2, remainder)};
    std::multiset<std::string> planned, seen;
    for (const ShapeForecast& shape : shape_forecast(datasets)) {
      for (std::int64_t i = 0; i < shape.batches; ++i) {
        planned.insert(format("{} {} {}", shape.batch, shape.height, shape.width));
      }
    }
    dataset::BatchOrder order(datasets, 5);
    order.advance_to(3);
    const std::vector<dataset::Batch> batches = order.batches();
    for (const dataset::Batch& batch : batches) {
      const dataset::Size size = datasets[batch.dataset].buckets[batch.bucket].size;
      seen.insert(format("{} {} {}", batch.items.size(), size.height / 8, size.width / 8));
    }
    QVERIFY(planned == seen);
  }
}

void TestShapeForecast::datasetsShareShapes() {
  const auto made = dataset_of({{{512, 512}, 4}}, 2);
  QCOMPARE(text(shape_forecast({made, made})), QString("2x64x64:4"));
}

void TestShapeForecast::bucketsCountImagesAndItems() {
  auto made = dataset_of({{{512, 512}, 2}}, 4);
  made.buckets[0].items = {0, 0, 0, 1, 1, 1};
  const auto buckets = bucket_forecast({made});
  QCOMPARE(buckets.size(), std::size_t{1});
  QCOMPARE(buckets[0].images, std::int64_t{2});
  QCOMPARE(buckets[0].items, std::int64_t{6});
  QCOMPARE(buckets[0].batches, std::int64_t{2});
}

void TestShapeForecast::compilesFollowTheSetting_data() {
  QTest::addColumn<bool>("compile");
  QTest::addColumn<QString>("dynamic");
  QTest::addColumn<int>("shapes");
  QTest::addColumn<int>("expected");
  QTest::newRow("off") << false << "false" << 9 << 0;
  QTest::newRow("one a shape") << true << "false" << 9 << 9;
  QTest::newRow("one shape") << true << "auto" << 1 << 1;
  QTest::newRow("auto") << true << "auto" << 9 << 2;
  QTest::newRow("symbols from the start") << true << "true" << 9 << 1;
}

void TestShapeForecast::compilesFollowTheSetting() {
  QFETCH(bool, compile);
  QFETCH(QString, dynamic);
  QFETCH(int, shapes);
  config::Settings settings;
  settings.set("compile", compile, config::Source::command_line);
  settings.set("compile_dynamic", dynamic.toStdString(), config::Source::command_line);
  std::vector<ShapeForecast> some;
  for (int i = 0; i < shapes; ++i) some.push_back({2, 8 + 2 * i, 8, 1});
  QTEST(static_cast<int>(compile_forecast(some, settings)), "expected");
}

LATHE_TEST(TestShapeForecast);
#include "shape_forecast_test.moc"
