#include "core/dataset/order.h"

#include <algorithm>

#include "tests/support/test_main.h"

using namespace lathe;
using namespace lathe::dataset;

namespace {

// Bucket 0: images a1, a2, a3 twice each (items 0, 1, 2), bucket 1: b1 once (item 3); batches of 2.
Dataset worked_example() {
  Dataset dataset;
  dataset.config.batch_size = 2;
  dataset.images.resize(4);
  dataset.buckets = {{{512, 512}, {0, 0, 1, 1, 2, 2}}, {{640, 384}, {3}}};
  return dataset;
}

QString text(const std::vector<Batch>& batches) {
  static const std::vector<QString> names = {"a1", "a2", "a3", "b1"};
  QStringList all;
  for (const Batch& batch : batches) {
    QStringList items;
    for (const std::size_t item : batch.items) items << names.at(item);
    all << items.join(' ');
  }
  return all.join(", ");
}

Dataset of_buckets(std::vector<std::size_t> counts, std::int64_t batch_size, BucketRemainder remainder) {
  Dataset dataset;
  dataset.config.batch_size = batch_size;
  dataset.remainder = remainder;
  std::size_t next = 0;
  for (const std::size_t count : counts) {
    Bucket& bucket = dataset.buckets.emplace_back();
    for (std::size_t i = 0; i < count; ++i) bucket.items.push_back(next++);
  }
  dataset.images.resize(next);
  return dataset;
}

}  // namespace

class TestOrder : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void workedEpochsAreTheKnownOnes();
  void epochsDependOnAllBefore();
  void nothingIsDroppedAndBucketsAreNotMixed();
  void datasetsFollowEachOther();
  void theGeneratorIsLeftAsTheLastShuffleLeftIt();
  void repeatFillsTheLastBatch();
  void dropLeavesTheShortBatchOut();
  void anEmptyDatasetHasNoBatches();
};

// Keys of bucket 0 and entries (bucket, index), by epoch:
//   0: (0,2)(0,0)(0,1)(1,0), a1 a3 a1 a2 a3 a2;  1: (1,0)(0,0)(0,1)(0,2), a1 a3 a3 a2 a1 a2;
//   2: (0,2)(0,1)(1,0)(0,0), a2 a3 a3 a2 a1 a1.
void TestOrder::workedEpochsAreTheKnownOnes() {
  BatchOrder order({worked_example()}, 478163327);
  QCOMPARE(text(order.batches()), QString("a3 a2, a1 a3, a1 a2, b1"));
  order.advance_to(1);
  QCOMPARE(text(order.batches()), QString("b1, a1 a3, a3 a2, a1 a2"));
  order.advance_to(2);
  QCOMPARE(text(order.batches()), QString("a1 a1, a3 a2, b1, a2 a3"));
  QCOMPARE(order.epoch(), std::int64_t{2});
}

void TestOrder::epochsDependOnAllBefore() {
  BatchOrder step_by_step({worked_example()}, 7), at_once({worked_example()}, 7);
  for (std::int64_t epoch = 1; epoch <= 5; ++epoch) step_by_step.advance_to(epoch);
  at_once.advance_to(5);
  QVERIFY(step_by_step.batches() == at_once.batches());
}

void TestOrder::nothingIsDroppedAndBucketsAreNotMixed() {
  const Dataset dataset = of_buckets({5, 1, 8}, 4, BucketRemainder::smaller);
  BatchOrder order({dataset}, 3);
  for (std::int64_t epoch = 0; epoch < 4; ++epoch) {
    order.advance_to(epoch);
    std::vector<std::size_t> seen;
    const std::vector<Batch> batches = order.batches();
    for (const Batch& batch : batches) {
      const auto& bucket = dataset.buckets[batch.bucket].items;
      for (const std::size_t item : batch.items) {
        QVERIFY(std::ranges::find(bucket, item) != bucket.end());
        seen.push_back(item);
      }
    }
    std::ranges::sort(seen);
    QCOMPARE(seen.size(), std::size_t{14});
    QVERIFY(std::ranges::adjacent_find(seen) == seen.end());
  }
  QCOMPARE(order.batches().size(), std::size_t{5});
}

void TestOrder::datasetsFollowEachOther() {
  const Dataset second = of_buckets({3}, 3, BucketRemainder::smaller);
  BatchOrder alone({second}, 9), both({worked_example(), second}, 9);
  alone.advance_to(2);
  both.advance_to(2);
  const auto batches = both.batches();
  QCOMPARE(batches.size(), std::size_t{5});
  QCOMPARE(batches.back().dataset, std::size_t{1});
  QVERIFY(batches.back().items == alone.batches().front().items);  // the generator is seeded anew for each dataset
}

void TestOrder::theGeneratorIsLeftAsTheLastShuffleLeftIt() {
  BatchOrder order({of_buckets({2}, 1, BucketRemainder::smaller)}, 100);
  order.advance_to(1);
  PythonRandom expected(101);
  std::vector<int> entries(2), items(2);
  expected.shuffle(entries);
  expected.shuffle(items);
  PythonRandom ours = order.random();
  QCOMPARE(ours.bits32(), expected.bits32());
}

void TestOrder::repeatFillsTheLastBatch() {
  const Dataset dataset = of_buckets({5, 1}, 4, BucketRemainder::repeat);
  const auto batches = BatchOrder({dataset}, 1).batches();
  QCOMPARE(batches.size(), std::size_t{3});
  for (const Batch& batch : batches) QCOMPARE(batch.items.size(), std::size_t{4});
}

void TestOrder::dropLeavesTheShortBatchOut() {
  const Dataset dataset = of_buckets({5, 3}, 4, BucketRemainder::drop);
  BatchOrder order({dataset}, 1);
  std::vector<std::size_t> seen;
  for (std::int64_t epoch = 0; epoch < 30; ++epoch) {
    order.advance_to(epoch);
    const std::vector<Batch> batches = order.batches();
    QCOMPARE(batches.size(), std::size_t{1});
    QCOMPARE(batches.front().items.size(), std::size_t{4});
    seen.insert(seen.end(), batches.front().items.begin(), batches.front().items.end());
  }
  std::ranges::sort(seen);
  seen.erase(std::unique(seen.begin(), seen.end()), seen.end());
  QVERIFY(seen == std::vector<std::size_t>({0, 1, 2, 3, 4}));  // the one left out changes; the small bucket never comes
}

void TestOrder::anEmptyDatasetHasNoBatches() {
  BatchOrder order({Dataset{}}, 1);
  order.advance_to(3);
  QVERIFY(order.batches().empty());
}

LATHE_TEST(TestOrder);
#include "order_test.moc"
