#include "core/dataset/validation_split.h"

#include <algorithm>

#include "tests/support/test_main.h"

using namespace lathe;
using namespace lathe::dataset;

class TestValidationSplit : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void countsRoundAsTheReference_data();
  void countsRoundAsTheReference();
  void aSeedGivesTheKnownOrderAndLeavesTheRunsGeneratorAlone();
  void withoutASeedBothSidesComeFromOneShuffle();
};

void TestValidationSplit::countsRoundAsTheReference_data() {
  QTest::addColumn<int>("count");
  QTest::addColumn<double>("share");
  QTest::addColumn<int>("training");
  QTest::addColumn<int>("validation");
  QTest::newRow("one shared") << 6 << 0.25 << 5 << 2;
  QTest::newRow("even") << 10 << 0.2 << 8 << 2;
  QTest::newRow("half rounds to even") << 5 << 0.5 << 3 << 2;
  QTest::newRow("all") << 4 << 1.0 << 0 << 4;
  QTest::newRow("too few") << 2 << 0.1 << 2 << 0;
  QTest::newRow("none there") << 0 << 0.5 << 0 << 0;
}

void TestValidationSplit::countsRoundAsTheReference() {
  QFETCH(int, count);
  QFETCH(double, share);
  PythonRandom random(1);
  const Split split = validation_split(static_cast<std::size_t>(count), share, 1, random);
  QTEST(static_cast<int>(split.training.size()), "training");
  QTEST(static_cast<int>(split.validation.size()), "validation");
}

void TestValidationSplit::aSeedGivesTheKnownOrderAndLeavesTheRunsGeneratorAlone() {
  PythonRandom random(5), untouched(5);
  const Split split = validation_split(10, 0.3, 42, random);
  // random.seed(42); random.shuffle(range(10)) → 7 3 2 8 5 6 9 4 0 1
  QVERIFY(split.training == std::vector<std::size_t>({7, 3, 2, 8, 5, 6, 9}));
  QVERIFY(split.validation == std::vector<std::size_t>({4, 0, 1}));
  QCOMPARE(random.bits32(), untouched.bits32());
}

void TestValidationSplit::withoutASeedBothSidesComeFromOneShuffle() {
  PythonRandom random(0);
  const Split split = validation_split(10, 0.3, std::nullopt, random);
  std::vector<std::size_t> all = split.training;
  all.insert(all.end(), split.validation.begin(), split.validation.end());
  QVERIFY(all == std::vector<std::size_t>({7, 8, 1, 5, 3, 4, 2, 0, 9, 6}));  // shuffle(range(10)) with seed 0
}

LATHE_TEST(TestValidationSplit);
#include "validation_split_test.moc"
