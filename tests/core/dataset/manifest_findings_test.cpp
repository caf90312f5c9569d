// What build_manifest says about folders and files that are not as they should be.

#include <algorithm>

#include "core/dataset/manifest.h"
#include "tests/support/dataset_on_disk.h"

using namespace lathe;
using namespace lathe::dataset;
using config::Severity;
using lathe::testing::DatasetOnDisk;
using lathe::testing::draw;
using lathe::testing::names;

namespace {

std::uint32_t crc32(std::string_view bytes) {
  std::uint32_t crc = 0xFFFFFFFF;
  for (const char c : bytes) {
    crc ^= static_cast<unsigned char>(c);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ (0xEDB88320U & (0U - (crc & 1U)));
  }
  return ~crc;
}

std::string big_endian(std::uint32_t value) {
  std::string text;
  for (int shift = 24; shift >= 0; shift -= 8) text += static_cast<char>((value >> shift) & 0xFF);
  return text;
}

// The head of a PNG: enough to be probed. colour 0: grey, 2: RGB.
std::string png_header(std::uint32_t width, std::uint32_t height, char bits, char colour) {
  const std::string chunk =
      "IHDR" + big_endian(width) + big_endian(height) + std::string{bits, colour, '\0', '\0', '\0'};
  const std::string end = "IDAT";
  return std::string("\x89PNG\r\n\x1A\n", 8) + big_endian(13) + chunk + big_endian(crc32(chunk)) + big_endian(0) + end +
         big_endian(crc32(end));
}

// The head of a JPEG with four components of 48x32 pixels.
std::string cmyk_jpeg_header() {
  const std::string start_of_frame(
      "\xFF\xC0\x00\x14\x08\x00\x20\x00\x30\x04"
      "\x01\x11\x00\x02\x11\x00\x03\x11\x00\x04\x11\x00",
      22);
  const std::string adobe("\xFF\xEE\x00\x0E\x41\x64\x6F\x62\x65\x00\x64\x00\x00\x00\x00\x00", 16);
  const std::string start_of_scan("\xFF\xDA\x00\x0E\x04\x01\x00\x02\x00\x03\x00\x04\x00\x00\x3F\x00", 16);
  return std::string("\xFF\xD8", 2) + adobe + start_of_frame + start_of_scan;
}

}  // namespace

class TestManifestFindings : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void captionsMissingAreCountedAndNamed();
  void brokenCaptionsStopTheRun();
  void brokenImagesAreSkippedAndListed();
  void oddFilesAreSpokenOfOnce();
  void sixteenBitAndCmykAndAlphaAreNoted();
  void theParentOfImageFoldersIsExplained();
  void aControlCharacterInThePathIsExplained();
  void subsetsTheReferenceSkipsAreSkipped();
  void nothingToTrainOnIsAnError();
  void bucketsBelowABatchAreListed();
  void aDatasetBelowTheAccumulationIsExplained();
  void tooSmallImagesAreSkippedWithoutUpscaling();
  void sidesTheNetworkCannotTakeAreErrors();
  void metadataSizesAreCompared();
};

void TestManifestFindings::captionsMissingAreCountedAndNamed() {
  DatasetOnDisk it;
  it.subset("a").caption_extension = ".caption";
  it.image("a/1.png", 64, 64, "in a .txt file");
  it.image("a/2.png", 64, 64);
  const Manifest manifest = it.build();
  QCOMPARE(manifest.training[0].images[0].caption, std::string());
  QVERIFY(it.said("dataset.no_caption").contains("2 of 2 images"));
  QVERIFY(it.said("dataset.no_caption").contains("1.png, 2.png"));
  QVERIFY(it.said("dataset.other_extension").startsWith("1 of these images"));
  const auto found = std::ranges::find(it.findings.all(), std::string("dataset.other_extension"),
                                       [](const auto& finding) { return finding.message.id; });
  QCOMPARE(found->fixes.at(0).set.at(0).second, std::string(".txt"));
}

void TestManifestFindings::brokenCaptionsStopTheRun() {
  DatasetOnDisk it;
  it.subset("a");
  it.image("a/1.png", 64, 64, "");
  it.image("a/2.png", 64, 64, "caf\xE9");
  it.image("a/3.png", 64, 64, "\xEF\xBB\xBFwith a mark");
  it.build();
  QVERIFY(it.findings.has_errors());
  QVERIFY(it.said("dataset.bad_captions").contains("1.txt"));
  QVERIFY(it.said("dataset.bad_captions").contains("2.txt"));
  QVERIFY(it.said("dataset.byte_order_mark").contains("3.txt"));
}

void TestManifestFindings::brokenImagesAreSkippedAndListed() {
  DatasetOnDisk it;
  it.subset("a");
  for (int i = 0; i < 5; ++i) it.image("a/good" + std::to_string(i) + ".png", 64, 64, "x");
  it.folder.write("a/empty.jpg", "");
  it.folder.write("a/text.png", "not a picture");
  it.folder.write("a/photo.avif", "x");
  const Manifest manifest = it.build();
  QVERIFY(!it.findings.has_errors());
  QCOMPARE(manifest.training[0].images.size(), std::size_t{5});
  QStringList skipped;
  for (const SkippedFile& file : manifest.skipped) {
    QVERIFY(!file.reason.english().empty());
    skipped << QString::fromStdString(to_utf8(file.path.filename()));
  }
  skipped.sort();
  QCOMPARE(skipped.join(' '), QString("empty.jpg photo.avif text.png"));
  QVERIFY(it.said("dataset.unreadable").startsWith("2 images"));
  QVERIFY(it.said("dataset.unsupported").contains("photo.avif"));
}

void TestManifestFindings::oddFilesAreSpokenOfOnce() {
  DatasetOnDisk it;
  it.subset("a");
  it.image("a/1.png", 64, 64, "x");
  it.image("a/2.Png", 64, 64, "x");
  for (const char* name : {"a/__MACOSX/._1.png", "a/.DS_Store", "a/Thumbs.db", "a/backup.zip"}) {
    it.folder.write(name, "x");
  }
  it.image("a/more/3.png", 64, 64);
  const Manifest manifest = it.build();
  QCOMPARE(names(manifest.training[0]), QString("1.png 2.Png"));
  QVERIFY(it.said("dataset.unseen_by_reference").contains("2.Png"));
  QVERIFY(it.said("dataset.leftovers").startsWith("3 hidden"));
  QVERIFY(it.said("dataset.unknown_files").contains(".zip: 1"));
  QVERIFY(it.said("dataset.subfolders").contains("more: 1"));
  it.subset("a/more");
  it.build();
  QVERIFY(it.said("dataset.subfolders").isEmpty());  // it is a subset of its own
}

void TestManifestFindings::sixteenBitAndCmykAndAlphaAreNoted() {
  DatasetOnDisk it;
  it.subset("a").class_tokens = "x";
  it.folder.write("a/grey16.png", png_header(64, 64, 16, 0));
  it.folder.write("a/rgb16.png", png_header(64, 64, 16, 2));
  it.folder.write("a/print.jpg", cmyk_jpeg_header());
  draw(it.folder.path() / "a/clear.png", 64, 64, 4);
  QCOMPARE(it.build().training[0].images.size(), std::size_t{4});
  QVERIFY(it.said("dataset.sixteen_bit_grey").contains("grey16.png"));
  QVERIFY(it.said("dataset.sixteen_bit").contains("rgb16.png"));
  QVERIFY(!it.said("dataset.sixteen_bit").contains("grey16.png"));
  QVERIFY(it.said("dataset.cmyk").contains("print.jpg"));
  QVERIFY(it.said("dataset.alpha").contains("clear.png"));
  it.dataset.subsets[0].alpha_mask = true;
  it.build();
  QVERIFY(it.said("dataset.alpha").isEmpty());
}

void TestManifestFindings::theParentOfImageFoldersIsExplained() {
  DatasetOnDisk it;
  it.subset("");
  it.image("10_cat/1.png", 64, 64);
  it.image("10_cat/2.png", 64, 64);
  it.build();
  QVERIFY(it.findings.has_errors());
  QVERIFY(it.said("dataset.images_below").contains("2 in its subfolders (10_cat: 2)"));
  QVERIFY(!it.said("dataset.nothing").isEmpty());
}

void TestManifestFindings::aControlCharacterInThePathIsExplained() {
  DatasetOnDisk it;
  it.dataset.subsets.emplace_back().image_dir = "data\train";
  it.build();
  QVERIFY(it.said("dataset.control_character").contains("TAB"));
}

void TestManifestFindings::subsetsTheReferenceSkipsAreSkipped() {
  DatasetOnDisk it;
  it.subset("a");
  it.subset("a");
  it.subset("b").num_repeats = 0;
  it.subset("missing");
  it.image("a/1.png", 64, 64, "x");
  it.image("b/1.png", 64, 64, "x");
  const Manifest manifest = it.build();
  QVERIFY(!it.findings.has_errors());
  QVERIFY(manifest.training[0].subset_images == std::vector<std::int64_t>({1, 0, 0, 0}));
  QVERIFY(!it.said("dataset.twice").isEmpty());
  QVERIFY(!it.said("dataset.no_repeats").isEmpty());
  QVERIFY(it.said("dataset.no_folder").contains("missing"));
}

void TestManifestFindings::nothingToTrainOnIsAnError() {
  DatasetOnDisk it;
  it.subset("a");
  std::filesystem::create_directories(it.folder.path() / "a");
  it.build();
  QVERIFY(it.severity("dataset.nothing") == Severity::error);
  PythonRandom random(1);
  config::Findings findings;
  build_manifest({}, it.settings, random, findings);
  QCOMPARE(findings.all().at(0).message.id, std::string("dataset.no_datasets"));
}

void TestManifestFindings::bucketsBelowABatchAreListed() {
  DatasetOnDisk it;
  it.dataset.batch_size = 4;
  it.subset("a");
  for (int i = 0; i < 3; ++i) it.image("a/wide" + std::to_string(i) + ".png", 128, 32, "x");
  for (int i = 0; i < 4; ++i) it.image("a/square" + std::to_string(i) + ".png", 64, 64, "x");
  it.build();
  QVERIFY(it.said("dataset.small_buckets").startsWith("1 of 2 buckets"));
  QVERIFY(it.severity("dataset.small_buckets") == Severity::note);
  QVERIFY(it.said("dataset.small_bucket").contains("wide0.png, wide1.png, wide2.png"));
  it.settings.set("bucket_remainder", std::string("drop"), config::Source::command_line);
  const Manifest dropped = it.build();
  QVERIFY(it.severity("dataset.dropped_buckets") == Severity::warning);
  QCOMPARE(dropped.batch_count(), std::size_t{1});
}

void TestManifestFindings::aDatasetBelowTheAccumulationIsExplained() {
  DatasetOnDisk it;
  it.dataset.batch_size = 4;
  it.subset("a");
  for (int i = 0; i < 10; ++i) it.image("a/" + std::to_string(i) + ".png", 64, 64, "x");
  it.settings.set("gradient_accumulation_steps", std::int64_t{4}, config::Source::command_line);
  it.build();
  QVERIFY(!it.findings.has_errors());
  QVERIFY(it.said("dataset.below_accumulation").startsWith("10 images make 3 batches"));
}

void TestManifestFindings::tooSmallImagesAreSkippedWithoutUpscaling() {
  DatasetOnDisk it;
  it.dataset.bucket_no_upscale = true;
  it.subset("a");
  it.image("a/tiny.png", 37, 10, "x");
  it.image("a/1.png", 48, 40, "x");
  const Manifest manifest = it.build();
  QCOMPARE(names(manifest.training[0]), QString("1.png"));
  QVERIFY(manifest.training[0].images[0].fit.bucket == Size(48, 32));
  QCOMPARE(manifest.skipped.size(), std::size_t{1});
  QVERIFY(it.said("dataset.no_bucket").contains("tiny.png"));
}

void TestManifestFindings::sidesTheNetworkCannotTakeAreErrors() {
  DatasetOnDisk it;
  it.dataset.enable_bucket = false;
  it.dataset.width = 72;
  it.subset("a");
  it.image("a/1.png", 64, 64, "x");
  it.build();
  QVERIFY(it.said("dataset.not_multiple").contains("72x64"));
  it.dataset.width = 5120;
  it.build();
  QVERIFY(it.said("dataset.too_long").contains("5120x64"));
  it.dataset.width = 0;
  it.build();
  QVERIFY(it.said("dataset.does_not_fit").contains("no resolution"));
  it.dataset.width = 64;
  it.dataset.subsets[0].resize_interpolation = "bicubicc";
  it.build();
  QVERIFY(it.said("dataset.does_not_fit").contains("bicubicc"));
}

void TestManifestFindings::metadataSizesAreCompared() {
  DatasetOnDisk it;
  it.dataset.kind = config::DatasetKind::metadata;
  config::SubsetConfig& subset = it.subset("a");
  it.image("a/1.png", 64, 64);
  subset.metadata_file =
      to_utf8(it.folder.write("m.jsonl", R"({"image_path": "1.png", "image_size": [640, 64], "caption": "x"})"));
  QVERIFY(it.build().training[0].images[0].size == Size(64, 64));
  QVERIFY(it.said("dataset.other_size").contains("1.png"));
}

LATHE_TEST(TestManifestFindings);
#include "manifest_findings_test.moc"
