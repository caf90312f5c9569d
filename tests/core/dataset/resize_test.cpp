#include "core/dataset/resize.h"

#include "core/base/error.h"
#include "core/dataset/pillow_resize.h"
#include "tests/support/test_main.h"

using namespace lathe;
using namespace lathe::dataset;

namespace {

using Bytes = std::vector<std::uint8_t>;

io::Image image_of(int width, int height, int channels, Bytes pixels) {
  return {width, height, channels, std::move(pixels)};
}

// Every pixel has its own colour: (x, y, 7).
io::Image coordinates(int width, int height) {
  Bytes pixels;
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) pixels.insert(pixels.end(), {std::uint8_t(x), std::uint8_t(y), std::uint8_t{7}});
  }
  return image_of(width, height, 3, std::move(pixels));
}

}  // namespace

class TestResize : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void boxAveragesWholePixels();
  void lanczosKeepsAFlatPicture();
  void transparentColoursDoNotBleed();
  void opencvTakesTheChannelsOneByOne();
  void automaticIsAreaDownAndLanczosUp();
  void namesAreTheReferences_data();
  void namesAreTheReferences();
  void theSubsetsChoiceWins();
  void cropsTheCentre();
};

void TestResize::boxAveragesWholePixels() {
  QVERIFY(pillow_resize(Bytes{10, 20, 31, 41}, {4, 1}, {2, 1}, 1, PillowFilter::box) == Bytes({15, 36}));
  QVERIFY(pillow_resize(Bytes{10, 20, 30, 40}, {2, 2}, {1, 1}, 1, PillowFilter::box) == Bytes({25}));
}

void TestResize::lanczosKeepsAFlatPicture() {
  const Bytes flat(7 * 5 * 3, 200);
  QVERIFY(pillow_resize(flat, {7, 5}, {13, 11}, 3, PillowFilter::lanczos) == Bytes(13 * 11 * 3, 200));
}

// A transparent green pixel beside an opaque red one: the average is half transparent and red alone.
void TestResize::transparentColoursDoNotBleed() {
  const Bytes pixels = {255, 0, 0, 255, 0, 255, 0, 0};
  QVERIFY(pillow_resize(pixels, {2, 1}, {1, 1}, 4, PillowFilter::box) == Bytes({255, 0, 0, 128}));
}

void TestResize::opencvTakesTheChannelsOneByOne() {
  const io::Image two = image_of(2, 2, 4, {255, 0, 0, 255, 0, 255, 0, 0, 255, 0, 0, 255, 0, 255, 0, 0});
  QVERIFY(resize(two, {1, 1}, Interpolation::area).pixels == Bytes({128, 128, 0, 128}));
}

void TestResize::automaticIsAreaDownAndLanczosUp() {
  io::Image image = coordinates(12, 9);
  for (std::size_t i = 0; i < image.pixels.size(); ++i) image.pixels[i] = static_cast<std::uint8_t>(i * i * 37);
  const auto same = [&](Size size, Interpolation interpolation) {
    return resize(image, size, Interpolation::automatic).pixels == resize(image, size, interpolation).pixels;
  };
  QVERIFY(same({5, 4}, Interpolation::area));
  QVERIFY(same({12, 4}, Interpolation::area));
  QVERIFY(same({20, 15}, Interpolation::lanczos));
  QVERIFY(same({13, 4}, Interpolation::lanczos));  // one side grows
  QVERIFY(!same({5, 4}, Interpolation::lanczos));
}

void TestResize::namesAreTheReferences_data() {
  QTest::addColumn<QString>("name");
  QTest::addColumn<int>("expected");
  const auto row = [](const char* name, Interpolation expected) {
    QTest::newRow(name) << QString(name) << static_cast<int>(expected);
  };
  row("lanczos", Interpolation::lanczos);
  row("box", Interpolation::box);
  row("area", Interpolation::area);
  row("bilinear", Interpolation::linear);
  row("linear", Interpolation::linear);
  row("bicubic", Interpolation::cubic);
  row("cubic", Interpolation::cubic);
  row("nearest", Interpolation::nearest);
}

void TestResize::namesAreTheReferences() {
  QFETCH(QString, name);
  const auto found = interpolation_named(name.toStdString());
  QVERIFY(found);
  QTEST(static_cast<int>(*found), "expected");
  const io::Image resized = resize(coordinates(8, 8), {4, 6}, *found);
  QCOMPARE(resized.pixels.size(), std::size_t{4 * 6 * 3});
  QCOMPARE(resized.at(0, 0)[2], std::uint8_t{7});  // a flat channel stays flat
}

void TestResize::theSubsetsChoiceWins() {
  config::DatasetConfig config;
  config.subsets.resize(2);
  config.resize_interpolation = "area";
  config.subsets[1].resize_interpolation = "box";
  QVERIFY(interpolation_of(config, 0) == Interpolation::area);
  QVERIFY(interpolation_of(config, 1) == Interpolation::box);
  config.subsets[1].resize_interpolation = "bicubicc";
  QVERIFY_EXCEPTION_THROWN(static_cast<void>(interpolation_of(config, 1)), Error);
}

void TestResize::cropsTheCentre() {
  const io::Image cropped = resize_and_crop(coordinates(10, 7), {{4, 4}, {10, 7}, 0}, Interpolation::lanczos);
  QCOMPARE(cropped.width, 4);
  QCOMPARE(cropped.height, 4);
  QCOMPARE(cropped.at(0, 0)[0], std::uint8_t{3});
  QCOMPARE(cropped.at(0, 0)[1], std::uint8_t{1});
  QCOMPARE(cropped.at(3, 3)[0], std::uint8_t{6});
  QCOMPARE(cropped.at(3, 3)[1], std::uint8_t{4});
}

LATHE_TEST(TestResize);
#include "resize_test.moc"
