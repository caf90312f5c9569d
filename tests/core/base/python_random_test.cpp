#include "core/base/python_random.h"

#include "tests/support/test_main.h"

using lathe::PythonRandom;

class TestPythonRandom : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void drawsWhatPythonDraws();
  void shufflesAsPythonDoes();
  void givesTheSeedsOfTheReference_data();
  void givesTheSeedsOfTheReference();
  void continuesFromASavedState();
};

void TestPythonRandom::drawsWhatPythonDraws() {
  PythonRandom bits(0);
  QCOMPARE(bits.bits32(), 3626764237u);
  QCOMPARE(bits.bits32(), 1654615998u);
  QCOMPARE(bits.bits32(), 3255389356u);
  PythonRandom real(0);
  QCOMPARE(real.random(), 0.8444218515250481);
  QCOMPARE(real.random(), 0.7579544029403025);
}

void TestPythonRandom::shufflesAsPythonDoes() {
  std::vector<int> items = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
  PythonRandom random(0);
  random.shuffle(items);
  QCOMPARE(items, (std::vector<int>{7, 8, 1, 5, 3, 4, 2, 0, 9, 6}));
  std::vector<int> again = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
  PythonRandom other(42);
  other.shuffle(again);
  QCOMPARE(again, (std::vector<int>{7, 3, 2, 8, 5, 6, 9, 4, 0, 1}));
}

void TestPythonRandom::givesTheSeedsOfTheReference_data() {
  QTest::addColumn<quint64>("seed");
  QTest::addColumn<qint64>("drawn");
  QTest::newRow("0") << quint64{0} << qint64{1654615998};
  QTest::newRow("1") << quint64{1} << qint64{577090037};
  QTest::newRow("42") << quint64{42} << qint64{478163327};
  QTest::newRow("1234") << quint64{1234} << qint64{1892932127};
}

void TestPythonRandom::givesTheSeedsOfTheReference() {
  QFETCH(quint64, seed);
  QFETCH(qint64, drawn);
  QCOMPARE(qint64{PythonRandom(seed).randint(0, std::int64_t{1} << 31)}, drawn);
}

void TestPythonRandom::continuesFromASavedState() {
  PythonRandom random(7);
  random.random();
  const PythonRandom::State saved = random.state();
  const double expected = random.random();
  PythonRandom other(1);
  other.set_state(saved);
  QCOMPARE(other.random(), expected);
}

LATHE_TEST(TestPythonRandom);
#include "python_random_test.moc"
