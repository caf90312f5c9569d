#include "core/models/anima/rope.h"

#include <cmath>

#include <ATen/ATen.h>

#include "tests/support/tensor_check.h"
#include "tests/support/test_main.h"

using namespace lathe::models::anima;

// Values that the specification gives, or the formula in fp64.
class TestRope : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void anglesOfAGridFollowTheFormula();
  void exponentsAreRoundedToTheDtypeOfTheWeights();
  void adapterFrequenciesAreRoundedToo();
  void rotationTurnsHalvesAgainstEachOther();
};

void TestRope::anglesOfAGridFollowTheFormula() {
  const ImageAngles angles(128, {}, at::kFloat, at::kCPU);
  const at::Tensor table = angles.table(1, 4, 6);
  QCOMPARE(table.sizes().vec(), (std::vector<std::int64_t>{24, 128}));
  const double theta = 10000.0 * std::pow(4.0, 42.0 / 40.0);
  QVERIFY(std::abs(theta - 42870.938501451725) < 1e-9);
  const auto frequency = [&](int i) { return 1.0 / std::pow(theta, 2.0 * i / 42.0); };
  for (const auto& [row, column] : {std::pair{0, 0}, std::pair{3, 5}, std::pair{2, 1}}) {
    const at::Tensor token = table[row * 6 + column];
    for (int i = 0; i < 21; ++i) {
      const double vertical = token[22 + i].item<double>(), horizontal = token[43 + i].item<double>();
      QVERIFY(std::abs(vertical - row * frequency(i)) < 1e-6 * 5);
      QVERIFY(std::abs(horizontal - column * frequency(i)) < 1e-6 * 5);
    }
    QVERIFY(token.slice(0, 0, 22).eq(0).all().item<bool>());  // one frame
    QVERIFY(at::equal(token.slice(0, 0, 64), token.slice(0, 64)));
  }
  // Several frames: the slowest axis.
  const at::Tensor video = angles.table(2, 2, 3);
  QCOMPARE(video[6][0].item<float>(), 1.0f);
  QCOMPARE(video[5][0].item<float>(), 0.0f);
}

void TestRope::exponentsAreRoundedToTheDtypeOfTheWeights() {
  // The exponents after rounding to bf16, as the specification lists them.
  const std::vector<double> spatial = {0,          0.04760742, 0.09521484, 0.14257812, 0.19042969, 0.23828125,
                                       0.28515625, 0.33398438, 0.38085938, 0.42773438, 0.4765625,  0.5234375,
                                       0.5703125,  0.6171875,  0.66796875, 0.71484375, 0.76171875, 0.80859375,
                                       0.85546875, 0.90625,    0.953125};
  const at::Tensor table = ImageAngles(128, {}, at::kBFloat16, at::kCPU).table(1, 2, 1);
  QCOMPARE(table.scalar_type(), at::kFloat);
  const double theta = 42870.938501451725;
  for (std::size_t i = 0; i < spatial.size(); ++i) {
    const double angle = table[1][22 + static_cast<std::int64_t>(i)].item<double>();
    QVERIFY(std::abs(angle * std::pow(theta, spatial[i]) - 1.0) < 1e-6);
  }
  QVERIFY(lathe::testing::relative_difference(table, ImageAngles(128, {}, at::kFloat, at::kCPU).table(1, 2, 1)) > 1e-4);
}

void TestRope::adapterFrequenciesAreRoundedToo() {
  const at::Tensor table = SequenceAngles(64, at::kBFloat16, at::kCPU).table(2);
  const std::vector<float> first = {1.0f, 0.75f, 0.5625f, 0.421875f, 0.31640625f, 0.23730469f};
  for (std::size_t i = 0; i < first.size(); ++i) {
    QCOMPARE(table[1][static_cast<std::int64_t>(i)].item<float>(), first[i]);
    QCOMPARE(table[1][static_cast<std::int64_t>(i) + 32].item<float>(), first[i]);
  }
}

void TestRope::rotationTurnsHalvesAgainstEachOther() {
  const at::Tensor x = at::arange(1, 5, at::kFloat).view({1, 1, 1, 4});  // 1 2 | 3 4
  const double quarter = std::acos(0.0);
  const Rotation turn = rotation(at::full({1, 4}, quarter));
  const at::Tensor turned = rotate(x, turn);
  LATHE_CLOSE(turned.flatten(), at::tensor({-3.0f, -4.0f, 1.0f, 2.0f}), 1e-6);
}

LATHE_TEST(TestRope);
#include "rope_test.moc"
