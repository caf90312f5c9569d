#include "core/models/anima/patch.h"

#include <ATen/ATen.h>

#include "tests/support/tensor_check.h"
#include "tests/support/test_main.h"

using namespace lathe::models::anima;

class TestPatch : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void patchesPutChannelFirstAndTokensPutItLast();
  void aSmallerPaddingMaskIsResized();
};

void TestPatch::patchesPutChannelFirstAndTokensPutItLast() {
  const at::Tensor ramp = at::arange(2 * 3 * 4 * 6, at::kFloat).view({2, 3, 4, 6});
  const at::Tensor patches = patchify(ramp);
  QCOMPARE(patches.sizes().vec(), (std::vector<std::int64_t>{2, 1, 2, 3, 12}));
  // f = 4c + 2m + n
  for (int c = 0; c < 3; ++c) {
    for (int m = 0; m < 2; ++m) {
      for (int n = 0; n < 2; ++n) {
        QCOMPARE(patches[1][0][1][2][4 * c + 2 * m + n].item<float>(), ramp[1][c][2 + m][4 + n].item<float>());
      }
    }
  }
  const at::Tensor tokens = at::arange(1 * 2 * 3 * 12, at::kFloat).view({1, 1, 2, 3, 12});
  const at::Tensor image = unpatchify(tokens);
  QCOMPARE(image.sizes().vec(), (std::vector<std::int64_t>{1, 3, 4, 6}));
  // f = (2m + n)·C + c
  for (int c = 0; c < 3; ++c) {
    for (int m = 0; m < 2; ++m) {
      for (int n = 0; n < 2; ++n) {
        QCOMPARE(image[0][c][2 + m][4 + n].item<float>(), tokens[0][0][1][2][(2 * m + n) * 3 + c].item<float>());
      }
    }
  }
}

void TestPatch::aSmallerPaddingMaskIsResized() {
  const at::Tensor x = at::zeros({1, 2, 4, 4});
  const at::Tensor mask = at::tensor({0.0f, 1.0f, 0.0f, 0.0f}).view({1, 1, 2, 2});
  const at::Tensor with = with_padding_channel(x, mask);
  QCOMPARE(with.sizes().vec(), (std::vector<std::int64_t>{1, 3, 4, 4}));
  QCOMPARE(with[0][2].sum().item<float>(), 4.0f);
  QCOMPARE(with[0][2][1][2].item<float>(), 1.0f);
  QCOMPARE(with_padding_channel(x, {}).sum().item<float>(), 0.0f);
}

LATHE_TEST(TestPatch);
#include "patch_test.moc"
