#include "core/dataset/manifest.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "core/base/error.h"
#include "core/dataset/cache_info.h"
#include "tests/support/dataset_on_disk.h"

using namespace lathe;
using namespace lathe::dataset;
using config::Severity;
using lathe::testing::DatasetOnDisk;
using lathe::testing::draw;
using lathe::testing::names;

class TestManifest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void anOrdinaryFolderBecomesBuckets();
  void countsFollowRepeats();
  void sameFolderInTwoDatasetsIsReadOnce();
  void classTokensStandInForCaptions();
  void sameStemsAreFlaggedAndGetTheirOwnCaches();
  void anotherCaptionOfTheSameImageGetsItsOwnTextCache();
  void aLatentCachesNameGivesTheSize();
  void anOlderLatentCacheIsNotBelieved();
  void regularisationIsMatched();
  void mergeMovesSmallBuckets();
  void validationTakesItsShare();
  void withoutAnySeedTheRunsGeneratorSplits();
  void metadataDatasetsWork();
  void cacheInfoReplacesTheFolder();
  void progressMayStop();
};

void TestManifest::anOrdinaryFolderBecomesBuckets() {
  DatasetOnDisk it;
  it.subset("a");
  it.image("a/b.png", 64, 64, "two\nlines");
  it.image("a/a.png", 100, 70, " one, tag \n");
  it.image("a/ü 日.png", 128, 32, "three");
  const Manifest manifest = it.build();
  QVERIFY(!it.findings.has_errors());
  QCOMPARE(manifest.training.size(), std::size_t{1});
  const Dataset& dataset = manifest.training.front();
  QCOMPARE(names(dataset), QString("a.png b.png ü 日.png"));
  QCOMPARE(dataset.images[0].caption, std::string("one, tag"));
  QCOMPARE(dataset.images[0].key, to_utf8(it.folder.path() / "a") + "/a.png");
  QVERIFY(dataset.images[0].size == Size(100, 70) && dataset.images[0].fit.bucket == Size(80, 48));
  QCOMPARE(to_utf8(dataset.images[0].latent_cache.filename()), std::string("a_0100x0070_anima.npz"));
  QCOMPARE(to_utf8(dataset.images[0].text_cache.filename()), std::string("a_anima_te.npz"));
  QCOMPARE(to_utf8(dataset.images[0].caption_file.filename()), std::string("a.txt"));
  QCOMPARE(dataset.images[1].caption, std::string("two"));
  QCOMPARE(dataset.buckets.size(), std::size_t{3});
  QVERIFY(std::ranges::is_sorted(dataset.buckets, {}, &Bucket::size));
  QCOMPARE(manifest.batch_count(), std::size_t{3});
  QCOMPARE(dataset.mean_aspect_error, std::abs(80.0 / 48.0 - 100.0 / 70.0) / 3.0);  // the others fit exactly
  QCOMPARE(manifest.tag_frequency.size(), std::size_t{1});
  QCOMPARE(manifest.tag_frequency[0].folder, std::string("a"));
  QCOMPARE(manifest.tag_frequency[0].tags.size(), std::size_t{4});
}

void TestManifest::countsFollowRepeats() {
  DatasetOnDisk it;
  it.subset("a").num_repeats = 3;
  it.subset("b").num_repeats = 2;
  for (const char* name : {"a/1.png", "a/2.png", "b/1.png"}) it.image(name, 64, 64, "x");
  const Manifest manifest = it.build();
  QCOMPARE(manifest.image_count(), std::int64_t{8});
  QCOMPARE(manifest.batch_count(), std::size_t{4});
  QVERIFY(manifest.training[0].buckets[0].items == std::vector<std::size_t>({0, 0, 0, 1, 1, 1, 2, 2}));
  QVERIFY(manifest.training[0].subset_images == std::vector<std::int64_t>({2, 1}));
}

void TestManifest::sameFolderInTwoDatasetsIsReadOnce() {
  DatasetOnDisk it;
  it.subset("a");
  it.image("a/1.png", 64, 64);
  it.folder.write("a/broken.png", "no image");
  config::DatasetConfig larger = it.dataset;
  larger.width = larger.height = 96;
  PythonRandom random(1);
  const Manifest manifest = build_manifest({{it.dataset, larger}, true}, it.settings, random, it.findings);
  QCOMPARE(manifest.training.size(), std::size_t{2});
  QCOMPARE(manifest.skipped.size(), std::size_t{1});
  QCOMPARE(manifest.image_count(), std::int64_t{2});
  QCOMPARE(manifest.tag_frequency.size(), std::size_t{1});
  QVERIFY(manifest.training[0].images[0].latent_cache == manifest.training[1].images[0].latent_cache);
  QCOMPARE(std::ranges::count(it.findings.all(), std::string("dataset.no_caption"),
                              [](const auto& finding) { return finding.message.id; }),
           std::ptrdiff_t{1});
}

void TestManifest::classTokensStandInForCaptions() {
  DatasetOnDisk it;
  it.subset("10_a cat").class_tokens = "a cat";
  it.image("10_a cat/1.png", 64, 64);
  it.image("10_a cat/2.png", 64, 64, "own");
  const Manifest manifest = it.build();
  QCOMPARE(manifest.training[0].images[0].caption, std::string("a cat"));
  QCOMPARE(manifest.training[0].images[1].caption, std::string("own"));
  QVERIFY(it.severity("dataset.class_tokens") == Severity::note);
  QVERIFY(it.said("dataset.no_caption").isEmpty());
}

void TestManifest::sameStemsAreFlaggedAndGetTheirOwnCaches() {
  DatasetOnDisk it;
  it.subset("a");
  it.subset("b");
  it.image("a/img.png", 64, 64, "shared");
  draw(it.folder.path() / "a/img.bmp", 64, 64);  // a PNG by its bytes, which is what counts
  it.image("b/img.png", 48, 64, "x");
  const Manifest manifest = it.build();
  QVERIFY(it.said("dataset.same_stem").contains("img.bmp + img.png"));
  const auto& images = manifest.training[0].images;
  QCOMPARE(to_utf8(images[0].latent_cache.filename()), std::string("img_0064x0064_anima.npz"));
  QCOMPARE(to_utf8(images[1].latent_cache.filename()), std::string("img.png_0064x0064_anima.npz"));
  QVERIFY(images[0].text_cache == images[1].text_cache);  // one caption
  QCOMPARE(images[2].latent_cache.parent_path(), it.folder.path() / "b");
}

void TestManifest::anotherCaptionOfTheSameImageGetsItsOwnTextCache() {
  DatasetOnDisk it;
  it.subset("a");
  it.image("a/1.png", 64, 64, "x");
  it.folder.write("a/1.caption", "y");
  config::DatasetConfig second = it.dataset;
  second.subsets[0].caption_extension = ".caption";
  PythonRandom random(1);
  const Manifest manifest = build_manifest({{it.dataset, second}, true}, it.settings, random, it.findings);
  const Image &x = manifest.training[0].images[0], &y = manifest.training[1].images[0];
  QVERIFY(x.latent_cache == y.latent_cache);
  QCOMPARE(to_utf8(x.text_cache.filename()), std::string("1_anima_te.npz"));
  QCOMPARE(to_utf8(y.text_cache.filename()), std::string("1.a1fce436_anima_te.npz"));  // SHA-256 of "y"
}

void TestManifest::aLatentCachesNameGivesTheSize() {
  DatasetOnDisk it;
  it.subset("a");
  it.image("a/img1.png", 64, 64, "x");
  it.folder.write("a/img10.png", "no picture, but nobody looks");
  it.folder.write("a/img10_0100x0070_anima.npz", "");
  const Manifest manifest = it.build();
  QCOMPARE(names(manifest.training[0]), QString("img1.png img10.png"));
  QVERIFY(manifest.training[0].images[0].size == Size(64, 64));  // not that of img10's cache
  QVERIFY(manifest.training[0].images[1].size == Size(100, 70));
}

void TestManifest::anOlderLatentCacheIsNotBelieved() {
  DatasetOnDisk it;
  it.subset("a");
  const auto cache = it.folder.write("a/1_0100x0070_anima.npz", "");
  it.image("a/1.png", 64, 64, "x");
  std::filesystem::last_write_time(cache, std::filesystem::last_write_time(cache) - std::chrono::hours(1));
  QVERIFY(it.build().training[0].images[0].size == Size(64, 64));
}

void TestManifest::regularisationIsMatched() {
  DatasetOnDisk it;
  it.subset("a").num_repeats = 5;
  config::SubsetConfig& reg = it.subset("reg");
  reg.is_reg = true;
  it.image("a/1.png", 64, 64, "x");
  for (const char* name : {"reg/1.png", "reg/2.png"}) it.image(name, 64, 64, "person");
  const Manifest scarce = it.build();
  QCOMPARE(scarce.image_count(), std::int64_t{5});
  QCOMPARE(scarce.regularisation_count(), std::int64_t{2});  // as the reference reports it
  QCOMPARE(scarce.training[0].images[1].repeats, std::int64_t{3});
  QCOMPARE(scarce.training[0].images[2].repeats, std::int64_t{2});
  QCOMPARE(scarce.batch_count(), std::size_t{5});
  QVERIFY(!it.said("dataset.reg_scarce").isEmpty());

  it.dataset.subsets[0].num_repeats = 1;
  const Manifest surplus = it.build();
  QCOMPARE(surplus.training[0].images.size(), std::size_t{2});
  QVERIFY(it.said("dataset.reg_surplus").startsWith("1 of 2"));
}

void TestManifest::mergeMovesSmallBuckets() {
  DatasetOnDisk it;
  it.subset("a");
  it.settings.set("bucket_remainder", std::string("merge"), config::Source::command_line);
  it.image("a/0.png", 128, 32, "x");
  for (const char* name : {"a/1.png", "a/2.png"}) it.image(name, 100, 70, "x");
  for (const char* name : {"a/3.png", "a/4.png"}) it.image(name, 64, 64, "x");
  const Manifest manifest = it.build();
  const Dataset& dataset = manifest.training[0];
  QCOMPARE(dataset.buckets.size(), std::size_t{2});
  QVERIFY(dataset.images[0].fit.bucket == Size(80, 48));
  QVERIFY(dataset.images[0].fit.resized == Size(192, 48));
  QCOMPARE(dataset.buckets[1].items.size(), std::size_t{3});
  QVERIFY(it.said("dataset.small_buckets").isEmpty());
}

void TestManifest::validationTakesItsShare() {
  DatasetOnDisk it;
  it.subset("a").num_repeats = 2;
  config::SubsetConfig& reg = it.subset("reg");
  reg.is_reg = true;
  for (int i = 0; i < 10; ++i) it.image("a/" + std::to_string(i) + ".png", 64, 64, "x");
  it.image("reg/1.png", 64, 64, "x");
  it.dataset.validation_split = 0.3;
  it.dataset.validation_seed = 42;
  const Manifest manifest = it.build();
  QCOMPARE(manifest.validation.size(), std::size_t{1});
  // random.seed(42); random.shuffle(range(10)) → 7 3 2 8 5 6 9 4 0 1
  QCOMPARE(names(manifest.training[0]).left(47), QString("7.png 3.png 2.png 8.png 5.png 6.png 9.png 1.png"));
  QCOMPARE(names(manifest.validation[0]), QString("4.png 0.png 1.png"));
  QCOMPARE(manifest.validation[0].images[0].repeats, std::int64_t{1});
  QCOMPARE(manifest.image_count(), std::int64_t{14});
  it.dataset.validation_split = 2.0;
  QVERIFY(it.build().validation.empty());
  QVERIFY(!it.said("dataset.bad_split").isEmpty());
  it.dataset.validation_split = 0.01;
  it.build();
  QVERIFY(!it.said("dataset.validation_empty").isEmpty());
}

void TestManifest::withoutAnySeedTheRunsGeneratorSplits() {
  DatasetOnDisk it;
  it.subset("a");
  for (int i = 0; i < 10; ++i) it.image("a/" + std::to_string(i) + ".png", 64, 64, "x");
  it.dataset.validation_split = 0.5;
  PythonRandom used(0), expected(0);
  std::vector<int> ten(10);
  expected.shuffle(ten);
  const Manifest manifest = build_manifest({{it.dataset}, true}, it.settings, used, it.findings);
  QCOMPARE(used.bits32(), expected.bits32());
  for (const Image& image : manifest.validation[0].images) {
    QVERIFY(std::ranges::find(manifest.training[0].images, image.key, &Image::key) ==
            manifest.training[0].images.end());
  }
}

void TestManifest::metadataDatasetsWork() {
  DatasetOnDisk it;
  it.dataset.kind = config::DatasetKind::metadata;
  config::SubsetConfig& subset = it.subset("a");
  it.image("a/1.png", 64, 64);
  it.image("a/sub/2.png", 100, 70);
  subset.num_repeats = 2;
  subset.metadata_file = to_utf8(it.folder.write(
      "meta.json", R"({"1.png": {"caption": "one", "tags": "A, b"}, "sub/2.png": {"tags": "b"}, "gone.png": {}})"));
  const Manifest manifest = it.build();
  QCOMPARE(names(manifest.training[0]), QString("2.png 1.png"));
  QCOMPARE(manifest.training[0].images[1].caption, std::string("one,A, b"));
  QCOMPARE(manifest.image_count(), std::int64_t{4});
  QCOMPARE(manifest.skipped.size(), std::size_t{1});
  QCOMPARE(manifest.tag_frequency.at(0).folder, std::string("meta.json"));
  const std::vector<std::pair<std::string, std::int64_t>> expected = {{"b", 2}, {"a", 1}};
  QVERIFY(manifest.tag_frequency[0].tags == expected);

  subset.image_dir.clear();
  it.dataset.subsets[0] = subset;
  it.build();
  QVERIFY(it.said("dataset.metadata_no_image_dir").startsWith("3 entries"));
  it.dataset.subsets[0].metadata_file = "nowhere.json";
  it.build();
  QVERIFY(it.said("dataset.file_unreadable").contains("nowhere.json"));
}

void TestManifest::cacheInfoReplacesTheFolder() {
  DatasetOnDisk it;
  it.subset("a").cache_info = true;
  it.image("a/1.png", 64, 64, "first");
  it.build();
  QVERIFY(std::filesystem::exists(it.folder.path() / "a" / kCacheInfoName));
  it.image("a/2.png", 64, 64, "not in the file");
  it.folder.write("a/1.txt", "edited");
  const Manifest again = it.build();
  QCOMPARE(names(again.training[0]), QString("1.png"));
  QCOMPARE(again.training[0].images[0].caption, std::string("first"));
  it.folder.write(std::string("a/") + kCacheInfoName, "{");
  it.build();
  QVERIFY(it.findings.has_errors());
}

void TestManifest::progressMayStop() {
  DatasetOnDisk it;
  it.subset("a");
  for (const char* name : {"a/1.png", "a/2.png"}) it.image(name, 64, 64, "x");
  PythonRandom random(1);
  std::size_t calls = 0;
  const auto stop = [&](std::size_t done, std::size_t total) {
    ++calls;
    QCOMPARE(total, std::size_t{2});
    if (done == 1) throw Error(ErrorKind::stopped, "stopped");
  };
  QVERIFY_EXCEPTION_THROWN(build_manifest({{it.dataset}, true}, it.settings, random, it.findings, stop), Error);
  QCOMPARE(calls, std::size_t{1});
}

LATHE_TEST(TestManifest);
#include "manifest_test.moc"
