#include "core/data/image_tensor.h"

#include <set>

#include "core/base/error.h"
#include "core/dataset/resize.h"
#include "tests/core/data/picture_set.h"
#include "tests/support/tensor_check.h"
#include "tests/support/test_main.h"

using namespace lathe;
using namespace lathe::data;
using lathe::testing::PictureSet;

class TestImageTensor : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void showsEveryLevelAsTheReferenceDoes();
  void resizesAndCutsTheCentre();
  void keepsAlphaApart();
  void cutsWhereItIsTold();
  void drawsACropWithBuckets();
  void drawsACropWithoutBuckets();
  void namesABrokenFile();
};

void TestImageTensor::showsEveryLevelAsTheReferenceDoes() {
  PictureSet set;
  dataset::Image& image = set.add("levels.png", 64, 64);
  io::Image levels{64, 64, 3, {}};
  for (int i = 0; i < 64 * 64 * 3; ++i) levels.pixels.push_back(static_cast<std::uint8_t>(i % 256));
  io::encode_png(image.path, levels);
  const ImageTensor tensor = load_image_tensor(set.dataset, image);
  const at::Tensor bytes = at::from_blob(levels.pixels.data(), {64, 64, 3}, at::kByte).permute({2, 0, 1});
  const at::Tensor expected = (bytes.to(at::kFloat) / 255.0f - 0.5f) / 0.5f;
  QVERIFY(tensor.pixels.equal(expected));
  QVERIFY(!tensor.alpha_mask.defined());
}

void TestImageTensor::resizesAndCutsTheCentre() {
  PictureSet set;
  const dataset::Image& image = set.add("wide.png", 150, 70);
  const ImageTensor tensor = load_image_tensor(set.dataset, image);
  io::Image expected =
      dataset::resize_and_crop(io::decode_image(image.path, false), image.fit, dataset::Interpolation::automatic);
  QCOMPARE(tensor.pixels.size(1), std::int64_t{image.fit.bucket.height});
  QCOMPARE(tensor.pixels.size(2), std::int64_t{image.fit.bucket.width});
  const at::Tensor bytes =
      at::from_blob(expected.pixels.data(), {expected.height, expected.width, 3}, at::kByte).permute({2, 0, 1});
  QVERIFY(tensor.pixels.equal((bytes.to(at::kFloat) / 255.0f - 0.5f) / 0.5f));
}

void TestImageTensor::keepsAlphaApart() {
  PictureSet set;
  set.subset().alpha_mask = true;
  const dataset::Image& image = set.add("see_through.png", 64, 64, 4);
  const io::Image pixels = io::decode_image(image.path, true);
  const ImageTensor tensor = load_image_tensor(set.dataset, image);
  QCOMPARE(tensor.alpha_mask.sizes().vec(), (std::vector<std::int64_t>{64, 64}));
  for (const auto& [x, y] : {std::pair{0, 0}, {13, 7}, {63, 63}}) {
    QCOMPARE(tensor.alpha_mask[y][x].item<float>(), static_cast<float>(pixels.at(x, y)[3]) / 255.0f);
  }
  const dataset::Image& opaque = set.add("opaque.png", 64, 64);
  QVERIFY(load_image_tensor(set.dataset, opaque).alpha_mask.eq(1.0).all().item<bool>());
}

void TestImageTensor::cutsWhereItIsTold() {
  PictureSet set;
  const dataset::Image& image = set.add("big.png", 100, 90);
  const ImageTensor tensor = load_image_tensor(set.dataset, image, CropPlace{{100, 90}, {3, 5}});
  const io::Image pixels = io::decode_image(image.path, false);
  const at::Tensor corner = tensor.pixels.select(1, 0).select(1, 0);
  for (int channel = 0; channel < 3; ++channel) {
    const float expected =
        (static_cast<float>(pixels.at(3, 5)[static_cast<std::size_t>(channel)]) / 255.0f - 0.5f) / 0.5f;
    QCOMPARE(corner[channel].item<float>(), expected);
  }
}

void TestImageTensor::drawsACropWithBuckets() {
  PictureSet set;
  const dataset::Image& image = set.add("wide.png", 150, 70);
  PythonRandom random(3), same(3);
  const CropPlace place = draw_crop(set.dataset, image, random);
  QCOMPARE(place.resized, image.fit.resized);
  QCOMPARE(place.offset, dataset::random_crop(image.fit, same));
  QCOMPARE(random.random(), same.random());
}

void TestImageTensor::drawsACropWithoutBuckets() {
  PictureSet set;
  set.dataset.config.enable_bucket = false;
  const dataset::Image& image = set.add("big.png", 100, 90);
  PythonRandom random(5), same(5);
  const CropPlace place = draw_crop(set.dataset, image, random);
  QCOMPARE(place.resized, image.size);
  QCOMPARE(place.offset.y, static_cast<int>(same.randint(0, 90 - 64)));
  QCOMPARE(place.offset.x, static_cast<int>(same.randint(0, 100 - 64)));
  const dataset::Image& small = set.add("small.png", 100, 50);
  QVERIFY_EXCEPTION_THROWN(draw_crop(set.dataset, small, random), Error);
}

void TestImageTensor::namesABrokenFile() {
  PictureSet set;
  const dataset::Image& image = set.add("broken.png", 64, 64);
  std::filesystem::resize_file(image.path, std::filesystem::file_size(image.path) / 2);
  try {
    load_image_tensor(set.dataset, image);
    QFAIL("a cut-off file was decoded");
  } catch (const Error& error) {
    QCOMPARE(error.kind(), ErrorKind::dataset);
    QVERIFY(error.message().find("broken.png") != std::string::npos);
  }
}

LATHE_TEST(TestImageTensor);
#include "image_tensor_test.moc"
