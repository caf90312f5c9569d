#include "core/train/preview.h"

#include <ATen/ATen.h>

#include "tests/support/test_main.h"

using namespace lathe::train;

class TestPreview : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void namesFilesAsTheReference_data();
  void namesFilesAsTheReference();
  void cutsPixelsToEightBits();
};

Q_DECLARE_METATYPE(lathe::train::PreviewPlace)
Q_DECLARE_METATYPE(lathe::train::Prompt)

void TestPreview::namesFilesAsTheReference_data() {
  QTest::addColumn<PreviewPlace>("place");
  QTest::addColumn<Prompt>("prompt");
  QTest::addColumn<QString>("name");
  QTest::newRow("by step") << PreviewPlace{.step = 120} << Prompt{.index = 3} << "000120_03_20261201142530.png";
  QTest::newRow("by epoch, named, seeded") << PreviewPlace{.output_name = "cat", .step = 120, .epoch = 2}
                                           << Prompt{.seed = 7} << "cat_e000002_00_20261201142530_7.png";
}

void TestPreview::namesFilesAsTheReference() {
  QFETCH(PreviewPlace, place);
  QFETCH(Prompt, prompt);
  QFETCH(QString, name);
  QCOMPARE(QString::fromStdString(preview_file_name(place, prompt, "20261201142530")), name);
}

void TestPreview::cutsPixelsToEightBits() {
  at::Tensor pixels = at::zeros({3, 1, 2});
  pixels[0][0][0] = -1.5;           // clamped
  pixels[1][0][0] = 1.2;            // clamped
  pixels[2][0][0] = 0.0;            // 127.5 is cut
  pixels[0][0][1] = 2 * 0.999 - 1;  // 254.745
  const lathe::io::Image image = to_image(pixels.to(at::kBFloat16).to(at::kFloat));
  QCOMPARE(image.width, 2);
  QCOMPARE(image.height, 1);
  QCOMPARE(image.pixels[0], 0);
  QCOMPARE(image.pixels[1], 255);
  QCOMPARE(image.pixels[2], 127);
  const lathe::io::Image exact = to_image(pixels);
  QCOMPARE(exact.pixels[3], 254);
}

LATHE_TEST(TestPreview);
#include "preview_test.moc"
