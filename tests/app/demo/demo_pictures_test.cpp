#include "app/demo/demo_pictures.h"

#include <map>
#include <set>

#include "app/demo/scene.h"
#include "core/base/error.h"
#include "core/base/files.h"
#include "core/base/paths.h"
#include "core/io/image_file.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/test_main.h"

using lathe::demo::write_demo_pictures;

class TestDemoPictures : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void everyPictureHasACaptionAndShapesAndSizesVary();
  void theSameSeedGivesTheSameFiles();
  void aFolderThatCannotBeMadeIsAnErrorOfFiles();
  void theCentreIsTheFigureTheCornerIsTheGround_data();
  void theCentreIsTheFigureTheCornerIsTheGround();
  void edgesAreSmooth();
};

namespace {

std::map<std::string, std::string> contents(const std::filesystem::path& folder) {
  std::map<std::string, std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    files[lathe::to_utf8(entry.path().filename())] = lathe::read_text(entry.path());
  }
  return files;
}

lathe::demo::Scene one_figure(lathe::demo::Shape shape) {
  lathe::demo::Scene scene{.width = 100, .height = 100, .ground_colour = {0.2, 0.4, 0.8}};
  scene.figures.push_back({.shape = shape, .colour = {0.9, 0.8, 0.1}, .centre = {50, 50}, .radius = 30});
  return scene;
}

bool is_figure(std::span<const std::uint8_t> pixel) {
  return pixel[0] > 200 && pixel[2] < 60;
}
bool is_ground(std::span<const std::uint8_t> pixel) {
  return pixel[0] < 110 && pixel[2] > 120;
}

}  // namespace

void TestDemoPictures::everyPictureHasACaptionAndShapesAndSizesVary() {
  const lathe::testing::TemporaryFolder folder;
  QCOMPARE(write_demo_pictures(folder.path() / "made" / "here", 1), lathe::demo::kPictureCount);
  std::set<std::pair<int, int>> sizes;
  std::size_t pictures = 0;
  std::string all_captions;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path() / "made" / "here")) {
    if (entry.path().extension() != ".png") continue;
    ++pictures;
    const lathe::io::Image image = lathe::io::decode_image(entry.path(), false);
    sizes.insert({image.width, image.height});
    QVERIFY(std::set(image.pixels.begin(), image.pixels.end()).size() > 20);  // not one flat colour
    const std::string caption = lathe::read_text(std::filesystem::path(entry.path()).replace_extension(".txt"));
    all_captions += caption;
    // "07_red_circle.png" shows what its caption says
    const QStringList words = QString::fromStdString(lathe::to_utf8(entry.path().stem())).split('_');
    QVERIFY2(QString::fromStdString(caption).contains(words[1] + " " + words[2]), caption.c_str());
  }
  QCOMPARE(pictures, lathe::demo::kPictureCount);
  QCOMPARE(sizes.size(), std::size_t{6});
  for (const auto shape : lathe::demo::kShapes) {
    QVERIFY(all_captions.find(lathe::demo::name(shape)) != std::string::npos);
  }
}

void TestDemoPictures::theSameSeedGivesTheSameFiles() {
  const lathe::testing::TemporaryFolder folder;
  for (const auto& [name, seed] : {std::pair{"a", 5}, {"b", 5}, {"c", 6}}) {
    write_demo_pictures(folder.path() / name, static_cast<std::uint64_t>(seed), 4);
  }
  QCOMPARE(contents(folder.path() / "a").size(), std::size_t{8});
  QVERIFY(contents(folder.path() / "a") == contents(folder.path() / "b"));
  QVERIFY(contents(folder.path() / "a") != contents(folder.path() / "c"));
}

void TestDemoPictures::aFolderThatCannotBeMadeIsAnErrorOfFiles() {
  const lathe::testing::TemporaryFolder folder;
  const auto file = folder.write("file", "x");
  try {
    write_demo_pictures(file / "below", 1, 1);
    QFAIL("no error");
  } catch (const lathe::Error& error) {
    QCOMPARE(error.kind(), lathe::ErrorKind::file);
    QVERIFY(QString(error.what()).contains("below"));
  }
}

void TestDemoPictures::theCentreIsTheFigureTheCornerIsTheGround_data() {
  QTest::addColumn<int>("shape");
  for (const auto shape : lathe::demo::kShapes) {
    QTest::newRow(std::string(lathe::demo::name(shape)).c_str()) << static_cast<int>(shape);
  }
}

void TestDemoPictures::theCentreIsTheFigureTheCornerIsTheGround() {
  QFETCH(int, shape);
  const auto kind = static_cast<lathe::demo::Shape>(shape);
  const lathe::io::Image image = draw(one_figure(kind));
  const bool hollow = kind == lathe::demo::Shape::ring || kind == lathe::demo::Shape::crescent;
  QVERIFY(hollow ? !is_figure(image.at(55, 48)) : is_figure(image.at(50, 50)));
  QVERIFY(is_ground(image.at(2, 2)));
  int inside = 0;
  for (std::int32_t y = 0; y < 100; ++y) {
    for (std::int32_t x = 0; x < 100; ++x) inside += is_figure(image.at(x, y)) ? 1 : 0;
  }
  QVERIFY2(inside > 800 && inside < 3.15 * 30 * 30, qPrintable(QString::number(inside)));  // of a circle's 2827
}

void TestDemoPictures::edgesAreSmooth() {
  const lathe::io::Image image = draw(one_figure(lathe::demo::Shape::circle));
  int between = 0;  // neither figure nor ground nor shadow: mixed pixels of the rim
  for (std::int32_t y = 0; y < 100; ++y) {
    for (std::int32_t x = 0; x < 100; ++x) {
      const auto pixel = image.at(x, y);
      between += pixel[0] > 110 && pixel[0] < 200 ? 1 : 0;
    }
  }
  QVERIFY2(between > 60, qPrintable(QString::number(between)));  // the rim is 179 pixels long
}

LATHE_TEST(TestDemoPictures);
#include "demo_pictures_test.moc"
