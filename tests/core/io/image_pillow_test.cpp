#include <algorithm>
#include <random>

#include <QFile>
#include <QJsonDocument>
#include <QJsonObject>

#include "core/base/error.h"
#include "core/base/files.h"
#include "core/base/format.h"
#include "core/base/paths.h"
#include "core/io/image_file.h"
#include "tests/support/golden.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/test_main.h"

using namespace lathe;
using namespace lathe::io;
using namespace lathe::testing;

namespace {

std::filesystem::path picture_folder() {
  return data_folder() / "core" / "io" / "images";
}

QJsonObject expectations() {
  QFile file(QString::fromStdString(to_utf8(picture_folder() / "expected.json")));
  if (!file.open(QIODevice::ReadOnly)) return {};
  return QJsonDocument::fromJson(file.readAll()).object()["images"].toObject();
}

void one_row_a_picture() {
  QTest::addColumn<QString>("file");
  for (const QString& file : expectations().keys()) QTest::newRow(qPrintable(file)) << file;
}

QByteArray pixels_of(const Image& image) {
  return {reinterpret_cast<const char*>(image.pixels.data()), static_cast<qsizetype>(image.pixels.size())};
}

}  // namespace

// Every kind of file against what Pillow makes of it (its version stands in expected.json), and the same files damaged.
class TestImagesAgainstPillow : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void coversEveryFormat();
  void decodesToTheSameColours_data() { one_row_a_picture(); }
  void decodesToTheSameColours();
  void decodesToTheSameAlpha_data() { one_row_a_picture(); }
  void decodesToTheSameAlpha();
  void probesTheSizeThatItDecodes_data() { one_row_a_picture(); }
  void probesTheSizeThatItDecodes();
  void refusesTheFileCutAtAnyByte_data() { one_row_a_picture(); }
  void refusesTheFileCutAtAnyByte();
  void survivesDamagedBytes_data() { one_row_a_picture(); }
  void survivesDamagedBytes();
};

void TestImagesAgainstPillow::coversEveryFormat() {
  const QStringList files = expectations().keys();
  for (const char* extension : {".png", ".jpg", ".webp", ".bmp"}) {
    QVERIFY2(files.filter(extension).size() >= 5, extension);
  }
}

void TestImagesAgainstPillow::decodesToTheSameColours() {
  QFETCH(QString, file);
  const QJsonObject expected = expectations()[file].toObject();
  const Image image = decode_image(picture_folder() / file.toStdString(), false);
  QCOMPARE(image.width, expected["width"].toInt());
  QCOMPARE(image.height, expected["height"].toInt());
  QCOMPARE(image.channels, 3);
  QCOMPARE(pixels_of(image).toHex(' '), QByteArray::fromBase64(expected["rgb"].toString().toLatin1()).toHex(' '));
}

void TestImagesAgainstPillow::decodesToTheSameAlpha() {
  QFETCH(QString, file);
  const QJsonObject expected = expectations()[file].toObject();
  const Image image = decode_image(picture_folder() / file.toStdString(), true);
  QCOMPARE(image.channels, 4);
  QByteArray colours;
  QByteArray alpha;
  for (std::size_t i = 0; i < image.pixels.size(); i += 4) {
    for (std::size_t c = 0; c < 3; ++c) colours.append(static_cast<char>(image.pixels[i + c]));
    alpha.append(static_cast<char>(image.pixels[i + 3]));
  }
  QCOMPARE(colours.toHex(' '), QByteArray::fromBase64(expected["rgb"].toString().toLatin1()).toHex(' '));
  const QByteArray opaque(alpha.size(), '\xFF');
  const QByteArray expected_alpha =
      expected.contains("alpha") ? QByteArray::fromBase64(expected["alpha"].toString().toLatin1()) : opaque;
  QCOMPARE(alpha.toHex(' '), expected_alpha.toHex(' '));
}

void TestImagesAgainstPillow::probesTheSizeThatItDecodes() {
  QFETCH(QString, file);
  const QJsonObject expected = expectations()[file].toObject();
  const ImageProbe probe = probe_image(picture_folder() / file.toStdString());
  QCOMPARE(probe.width, expected["width"].toInt());
  QCOMPARE(probe.height, expected["height"].toInt());
  QCOMPARE(probe.has_alpha, expected.contains("alpha"));
  QCOMPARE(probe.sixteen_bit(), file.contains("16") && file.endsWith(".png"));
}

void TestImagesAgainstPillow::refusesTheFileCutAtAnyByte() {
  QFETCH(QString, file);
  const TemporaryFolder folder;
  const std::string whole = read_text(picture_folder() / file.toStdString());
  // The last row's padding is all that may be missing from a BMP.
  const std::size_t spare = file.endsWith(".bmp") ? 3 : 0;
  for (std::size_t size = 0; size + spare < whole.size(); ++size) {
    // A new name each time: some file systems wait for the disk when a file is overwritten.
    const auto path = folder.write(format("part{}", size), std::string_view(whole).substr(0, size));
    try {
      decode_image(path, false);
      QFAIL(qPrintable(QString("accepted %1 of %2 bytes").arg(size).arg(whole.size())));
    } catch (const Error& error) {
      QVERIFY(error.kind() == ErrorKind::dataset);
      QVERIFY(QString::fromStdString(error.message()).contains("part"));
      QVERIFY(!QString::fromStdString(error.message()).contains('\n'));
    }
  }
}

// Whatever comes out, an image or an Error, nothing is read or written outside (the address sanitizer watches).
void TestImagesAgainstPillow::survivesDamagedBytes() {
  QFETCH(QString, file);
  const TemporaryFolder folder;
  const std::string whole = read_text(picture_folder() / file.toStdString());
  std::mt19937 random(7);
  int refused = 0;
  for (int attempt = 0; attempt < 100; ++attempt) {
    std::string damaged = whole;
    for (int i = 0; i < 3; ++i) damaged[random() % damaged.size()] = static_cast<char>(random());
    const auto path = folder.write(format("damaged{}", attempt), damaged);
    try {
      const Image image = decode_image(path, attempt % 2 == 0);
      QCOMPARE(image.pixels.size(), static_cast<std::size_t>(image.width * image.height * image.channels));
    } catch (const Error& error) {
      QVERIFY(error.kind() == ErrorKind::dataset);
      ++refused;
    }
  }
  QVERIFY(refused > 0);
}

LATHE_TEST(TestImagesAgainstPillow);
#include "image_pillow_test.moc"
