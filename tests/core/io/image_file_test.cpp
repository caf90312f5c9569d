#include "core/io/image_file.h"

#include <algorithm>
#include <array>
#include <memory>

#include <png.h>
#include <turbojpeg.h>
#include <webp/encode.h>

#include "core/base/error.h"
#include "core/base/files.h"
#include "core/base/format.h"
#include "core/base/paths.h"
#include "tests/support/golden.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/test_main.h"

using namespace lathe;
using namespace lathe::io;
using namespace lathe::testing;

namespace {

Image gradient(std::int32_t width, std::int32_t height, std::int32_t channels) {
  Image image{width, height, channels, {}};
  for (std::int32_t y = 0; y < height; ++y) {
    for (std::int32_t x = 0; x < width; ++x) {
      for (std::int32_t c = 0; c < channels; ++c)
        image.pixels.push_back(static_cast<std::uint8_t>(x * 7 + y * 5 + c * 40));
    }
  }
  return image;
}

// An interlaced PNG of samples as they are (16 bits: high byte first).
std::string png_of(std::uint32_t width, std::uint32_t height, int bits, int colour_type,
                   const std::vector<std::uint8_t>& samples) {
  std::string bytes;
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop info = png_create_info_struct(png);
  png_set_write_fn(
      png, &bytes,
      [](png_structp p, png_bytep data, std::size_t size) {
        static_cast<std::string*>(png_get_io_ptr(p))->append(reinterpret_cast<const char*>(data), size);
      },
      nullptr);
  png_set_IHDR(png, info, width, height, bits, colour_type, PNG_INTERLACE_ADAM7, PNG_COMPRESSION_TYPE_DEFAULT,
               PNG_FILTER_TYPE_DEFAULT);
  png_write_info(png, info);
  std::vector<std::uint8_t> copy = samples;
  std::vector<png_bytep> rows;
  for (std::size_t y = 0; y < height; ++y) rows.push_back(copy.data() + y * png_get_rowbytes(png, info));
  png_write_image(png, rows.data());
  png_write_end(png, nullptr);
  png_destroy_write_struct(&png, &info);
  return bytes;
}

std::string jpeg_of(std::int32_t width, std::int32_t height, int pixel_format, int subsampling,
                    const std::vector<std::uint8_t>& samples) {
  const std::unique_ptr<void, int (*)(void*)> handle(tjInitCompress(), tjDestroy);
  unsigned char* data = nullptr;
  decltype(tjBufSize(1, 1, 0)) size = 0;
  tjCompress2(handle.get(), samples.data(), width, 0, height, pixel_format, &data, &size, subsampling, 100, 0);
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  tjFree(data);
  return bytes;
}

std::int32_t largest_difference(const std::vector<std::uint8_t>& a, const std::vector<std::uint8_t>& b) {
  std::int32_t largest = a.size() == b.size() ? 0 : 256;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    largest = std::max(largest, std::abs(std::int32_t{a[i]} - std::int32_t{b[i]}));
  }
  return largest;
}

QString message_of_decoding(const std::filesystem::path& path) {
  try {
    decode_image(path, false);
  } catch (const Error& error) {
    return QString::fromStdString(error.message());
  }
  return {};
}

}  // namespace

class TestImageFile : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void readsThePngThatItWrote_data();
  void readsThePngThatItWrote();
  void writesTheSameBytesTwice();
  void showsSixteenBitCopiesAsTheEightBitPicture_data();
  void showsSixteenBitCopiesAsTheEightBitPicture();
  void clipsSixteenBitGreyByDefault();
  void readsAYcckJpegAsCmyk();
  void readsTheLosslessWebpThatLibwebpWrote();
  void ignoresWhatTheFileIsCalled();
  void probesColourModes_data();
  void probesColourModes();
  void probesAFileWhosePixelsAreMissing();
  void namesTheFileAndTheReason_data();
  void namesTheFileAndTheReason();
  void refusesAPngWithABadChecksum();
  void acceptsAJpegWithSomethingBehindItsEnd();
  void listsExtensionsInTwoCases();
};

void TestImageFile::readsThePngThatItWrote_data() {
  QTest::addColumn<int>("channels");
  QTest::newRow("RGB") << 3;
  QTest::newRow("RGBA") << 4;
}

void TestImageFile::readsThePngThatItWrote() {
  QFETCH(int, channels);
  const TemporaryFolder folder;
  const auto path = folder.path() / from_utf8("bild-ä-画像.png");
  const Image image = gradient(33, 17, channels);
  encode_png(path, image);
  const Image again = decode_image(path, channels == 4);
  QCOMPARE(again.width, 33);
  QCOMPARE(again.height, 17);
  QVERIFY(again.pixels == image.pixels);
  QVERIFY(std::ranges::equal(again.at(2, 1), image.at(2, 1)));
  QCOMPARE(again.at(2, 1)[0], 2 * 7 + 5);
}

void TestImageFile::writesTheSameBytesTwice() {
  const TemporaryFolder folder;
  encode_png(folder.path() / "a.png", gradient(20, 20, 3));
  encode_png(folder.path() / "b.png", gradient(20, 20, 3));
  QVERIFY(read_text(folder.path() / "a.png") == read_text(folder.path() / "b.png"));
}

void TestImageFile::showsSixteenBitCopiesAsTheEightBitPicture_data() {
  QTest::addColumn<int>("colour_type");
  QTest::addColumn<int>("samples");
  QTest::newRow("grey") << PNG_COLOR_TYPE_GRAY << 1;
  QTest::newRow("grey + alpha") << PNG_COLOR_TYPE_GRAY_ALPHA << 2;
  QTest::newRow("RGB") << PNG_COLOR_TYPE_RGB << 3;
  QTest::newRow("RGBA") << PNG_COLOR_TYPE_RGB_ALPHA << 4;
}

void TestImageFile::showsSixteenBitCopiesAsTheEightBitPicture() {
  QFETCH(int, colour_type);
  QFETCH(int, samples);
  const TemporaryFolder folder;
  const Image picture = gradient(9, 8, samples);
  std::vector<std::uint8_t> wide;
  for (const std::uint8_t value : picture.pixels)
    wide.insert(wide.end(), {value, static_cast<std::uint8_t>(value / 2)});
  const auto eight = folder.write("8.png", png_of(9, 8, 8, colour_type, picture.pixels));
  const auto sixteen = folder.write("16.png", png_of(9, 8, 16, colour_type, wide));
  QVERIFY(probe_image(sixteen).sixteen_bit());
  const Image a = decode_image(eight, true);
  const Image b = decode_image(sixteen, true, SixteenBitGrey::scale);
  QVERIFY(largest_difference(a.pixels, b.pixels) <= 1);
}

void TestImageFile::clipsSixteenBitGreyByDefault() {
  const TemporaryFolder folder;
  const auto path = folder.write("16.png", png_of(3, 1, 16, PNG_COLOR_TYPE_GRAY, {0, 254, 1, 0, 200, 0}));
  const Image image = decode_image(path, false);
  QCOMPARE(image.at(0, 0)[0], 254);
  QCOMPARE(image.at(1, 0)[1], 255);
  QCOMPARE(image.at(2, 0)[2], 255);
}

// turbojpeg turns CMYK into YCCK when it writes; the stored values are Adobe's, inverted. Expected colour from Pillow.
void TestImageFile::readsAYcckJpegAsCmyk() {
  std::vector<std::uint8_t> samples;
  for (int i = 0; i < 16 * 16; ++i) samples.insert(samples.end(), {255 - 10, 255 - 20, 255 - 30, 255 - 40});
  const TemporaryFolder folder;
  const auto path = folder.write("a.jpg", jpeg_of(16, 16, TJPF_CMYK, TJSAMP_444, samples));
  QVERIFY(probe_image(path).mode == ColourMode::cmyk);
  const Image image = decode_image(path, false);
  const std::array<int, 3> expected = {207, 198, 190};
  for (std::size_t c = 0; c < 3; ++c) QVERIFY(std::abs(image.at(5, 5)[c] - expected[c]) <= 2);
}

void TestImageFile::readsTheLosslessWebpThatLibwebpWrote() {
  const Image picture = gradient(40, 30, 3);
  std::uint8_t* data = nullptr;
  const std::size_t size = WebPEncodeLosslessRGB(picture.pixels.data(), 40, 30, 120, &data);
  const TemporaryFolder folder;
  const auto path = folder.write("a.webp", {reinterpret_cast<const char*>(data), size});
  WebPFree(data);
  QVERIFY(decode_image(path, false).pixels == picture.pixels);
}

void TestImageFile::ignoresWhatTheFileIsCalled() {
  const TemporaryFolder folder;
  const auto path = folder.write("a.png", jpeg_of(8, 8, TJPF_RGB, TJSAMP_444, gradient(8, 8, 3).pixels));
  QVERIFY(probe_image(path).format == ImageFormat::jpeg);
  QVERIFY(largest_difference(decode_image(path, false).pixels, gradient(8, 8, 3).pixels) <= 3);
}

void TestImageFile::probesColourModes_data() {
  QTest::addColumn<QString>("file");
  QTest::addColumn<QString>("expected");
  QTest::newRow("1") << "grey1.png"
                     << "PNG grey 1";
  QTest::newRow("2") << "grey_alpha16.png"
                     << "PNG grey + alpha 16";
  QTest::newRow("3") << "palette4_interlaced.png"
                     << "PNG palette 4";
  QTest::newRow("4") << "rgb16.png"
                     << "PNG RGB 16";
  QTest::newRow("5") << "rgba8.png"
                     << "PNG RGBA 8";
  QTest::newRow("6") << "grey.jpg"
                     << "JPEG grey 8";
  QTest::newRow("7") << "cmyk.jpg"
                     << "JPEG CMYK 8";
  QTest::newRow("8") << "stored_as_rgb.jpg"
                     << "JPEG RGB 8";
  QTest::newRow("9") << "lossy_alpha.webp"
                     << "WebP RGBA 8";
  QTest::newRow("10") << "lossless.webp"
                      << "WebP RGB 8";
  QTest::newRow("11") << "palette1.bmp"
                      << "BMP palette 1";
  QTest::newRow("12") << "rgba32.bmp"
                      << "BMP RGBA 8";
}

void TestImageFile::probesColourModes() {
  QFETCH(QString, file);
  QFETCH(QString, expected);
  const ImageProbe probe = probe_image(data_folder() / "core" / "io" / "images" / file.toStdString());
  QCOMPARE(QString::fromStdString(format("{} {} {}", name(probe.format), name(probe.mode), probe.bits)), expected);
}

void TestImageFile::probesAFileWhosePixelsAreMissing() {
  const TemporaryFolder folder;
  encode_png(folder.path() / "a.png", gradient(33, 17, 3));
  const auto path = folder.write("cut.png", read_text(folder.path() / "a.png").substr(0, 60));
  QCOMPARE(probe_image(path).width, 33);
  QVERIFY(message_of_decoding(path).contains("cut off"));
}

void TestImageFile::namesTheFileAndTheReason_data() {
  QTest::addColumn<QByteArray>("content");
  QTest::addColumn<QString>("reason");
  const auto header = [](std::uint32_t width, std::uint32_t height) {
    std::string png = png_of(1, 1, 8, PNG_COLOR_TYPE_RGB, {1, 2, 3});
    for (int i = 0; i < 4; ++i) png[16 + static_cast<std::size_t>(i)] = static_cast<char>(width >> (24 - 8 * i));
    for (int i = 0; i < 4; ++i) png[20 + static_cast<std::size_t>(i)] = static_cast<char>(height >> (24 - 8 * i));
    return QByteArray::fromStdString(png);
  };
  QTest::newRow("empty") << QByteArray() << "it is empty (0 bytes)";
  QTest::newRow("text") << QByteArray("hello") << "it is not a PNG, JPEG, WebP or BMP file";
  QTest::newRow("no width") << header(0, 5) << "its size is 0x5";
  QTest::newRow("too wide") << header(40000, 1) << "its size 40000x1 is beyond the limit of 32768 a side";
  QTest::newRow("too many pixels") << header(32768, 32768) << "its size 32768x32768 is beyond the limit";
  QTest::newRow("2^32 - 1 wide") << header(0xFFFFFFFF, 2) << "its size 4294967295x2 is beyond the limit";
  QTest::newRow("small file of a huge picture") << header(16384, 16384) << "cannot hold 16384x16384 pixels";
  QTest::newRow("JPEG start alone") << QByteArray("\xFF\xD8\xFF\xE0") << "it is cut off";
  QTest::newRow("RIFF start alone") << QByteArray("RIFF\x40\0\0\0WEBP", 12) << "it is cut off";
  QTest::newRow("BMP start alone") << QByteArray("BM") << "it is cut off";
}

void TestImageFile::namesTheFileAndTheReason() {
  QFETCH(QByteArray, content);
  QFETCH(QString, reason);
  const TemporaryFolder folder;
  const auto path = folder.write("broken.png", content.toStdString());
  const QString message = message_of_decoding(path);
  QVERIFY2(message.contains(reason), qPrintable(message));
  QVERIFY(message.contains("broken.png"));
}

void TestImageFile::refusesAPngWithABadChecksum() {
  const TemporaryFolder folder;
  encode_png(folder.path() / "a.png", gradient(33, 17, 3));
  std::string bytes = read_text(folder.path() / "a.png");
  const std::size_t pixels = bytes.find("IDAT");
  bytes[pixels + 20] ^= 1;
  QVERIFY(message_of_decoding(folder.write("bad.png", bytes)).contains("damaged"));
}

void TestImageFile::acceptsAJpegWithSomethingBehindItsEnd() {
  const TemporaryFolder folder;
  const std::string jpeg = jpeg_of(8, 8, TJPF_RGB, TJSAMP_420, gradient(8, 8, 3).pixels);
  const auto plain = folder.write("a.jpg", jpeg);
  const auto longer = folder.write("b.jpg", jpeg + "appended by a camera");
  QVERIFY(decode_image(plain, false).pixels == decode_image(longer, false).pixels);
}

void TestImageFile::listsExtensionsInTwoCases() {
  const auto has = [](std::string_view text) {
    return std::ranges::find(image_extensions(), text) != image_extensions().end();
  };
  QVERIFY(has(".jpeg") && has(".JPEG") && has(".webp") && has(".BMP"));
  QVERIFY(!has(".Jpeg") && !has(".gif"));
}

LATHE_TEST(TestImageFile);
#include "image_file_test.moc"
