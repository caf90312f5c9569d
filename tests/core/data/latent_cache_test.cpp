#include "core/data/latent_cache.h"

#include "core/base/error.h"
#include "core/base/files.h"
#include "core/data/npz_tensor.h"
#include "core/data/stale_reasons.h"
#include "tests/core/data/picture_set.h"
#include "tests/support/tensor_check.h"
#include "tests/support/test_main.h"

using namespace lathe;
using namespace lathe::data;
using lathe::testing::PictureSet;
namespace fs = std::filesystem;

class TestLatentCache : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void givesBackWhatWasPut();
  void anEntryOfTheSameRunSettingsIsFresh();
  void anotherVaeMakesItStale();
  void anUnknownVaeIsNotCompared();
  void anotherResizeMakesItStale();
  void aReplacedImageMakesItStale();
  void aTouchedImageDoesNot();
  void aChangeBehindSizeAndTimeIsFoundWhenAskedFor();
  void sameNamesInTwoFoldersAreTwoEntries();
  void aFileOfTheReferenceIsTrusted();
  void aFileWrittenSinceByAnotherProgramIsTrusted();
  void aMovedFolderIsStillKnown();
  void whatTheSettingsNeedMustBeThere();
  void anUnreadableFileIsMadeAgain();
  void skipCheckTakesAnyFile();
  void otherSizesStayInTheFile();
  void mirroredLatentsOfAnotherVaeDoNotStay();
  void oldFilesWithAFrameAreRead();
  void memoryKeepsTheTypeOfTheVae();
  void memoryKeepsSizesApart();
  void latentsThatAreNotFiniteAreRefused();
};

namespace {

CachedLatents latents_for(const dataset::Image& image, double value = 0.5, at::ScalarType type = at::kFloat) {
  const std::int64_t h = image.fit.bucket.height / 8, w = image.fit.bucket.width / 8;
  CachedLatents latents;
  latents.latents = (at::arange(16 * h * w, at::kFloat).reshape({16, h, w}) / 1000.0 + value).to(type);
  return latents;
}

LatentCacheOptions on_disk(const std::string& vae = "vae A") {
  LatentCacheOptions options;
  options.on_disk = true;
  options.vae_fingerprint = vae;
  return options;
}

// The id of the reason; "" where the entry is fresh. Asks a cache that was opened anew, as the next run would.
std::string reason(const PictureSet& set, const dataset::Image& image, const LatentCacheOptions& options = on_disk()) {
  const auto stale = LatentCache(options).why_stale(set.dataset, image);
  return stale ? stale->id : std::string();
}

std::string id(TextId text) {
  return std::string(text.id);
}

void change_picture(const dataset::Image& image) {
  const auto time = fs::last_write_time(image.path);
  io::encode_png(image.path, testing::picture(image.size.width, image.size.height, 3, 99));
  fs::last_write_time(image.path, time + std::chrono::seconds(2));
}

}  // namespace

void TestLatentCache::givesBackWhatWasPut() {
  PictureSet set;
  set.subset().flip_aug = set.subset().alpha_mask = true;
  const dataset::Image& image = set.add("a.png", 64, 64, 4);
  CachedLatents latents = latents_for(image);
  latents.flipped = latents_for(image, -2.0).latents;
  latents.alpha_mask = at::rand({64, 64});
  LatentCache(on_disk()).put(set.dataset, image, latents);
  const CachedLatents back = LatentCache(on_disk()).get(set.dataset, image);
  QVERIFY(back.latents.equal(latents.latents));
  QVERIFY(back.flipped.equal(latents.flipped));
  QVERIFY(back.alpha_mask.equal(latents.alpha_mask));
}

void TestLatentCache::anEntryOfTheSameRunSettingsIsFresh() {
  PictureSet set;
  const dataset::Image& image = set.add("a.png", 100, 70);
  QCOMPARE(reason(set, image), id(kNotCached));
  LatentCache(on_disk()).put(set.dataset, image, latents_for(image));
  QCOMPARE(reason(set, image), std::string());
}

void TestLatentCache::anotherVaeMakesItStale() {
  PictureSet set;
  const dataset::Image& image = set.add("a.png", 100, 70);
  LatentCache(on_disk()).put(set.dataset, image, latents_for(image));
  QCOMPARE(reason(set, image, on_disk("vae B")), id(kOtherVae));
  LatentCache(on_disk("vae B")).put(set.dataset, image, latents_for(image, 0.75));
  QCOMPARE(reason(set, image, on_disk("vae B")), std::string());
  QCOMPARE(reason(set, image, on_disk("vae A")), id(kOtherVae));
}

void TestLatentCache::anUnknownVaeIsNotCompared() {
  PictureSet set;
  const dataset::Image& image = set.add("a.png", 100, 70);
  LatentCache(on_disk()).put(set.dataset, image, latents_for(image));
  QCOMPARE(reason(set, image, on_disk("")), std::string());
}

void TestLatentCache::anotherResizeMakesItStale() {
  PictureSet set;
  const dataset::Image &image = set.add("a.png", 100, 70), &exact = set.add("exact.png", 64, 64);
  LatentCache cache(on_disk());
  cache.put(set.dataset, image, latents_for(image));
  cache.put(set.dataset, exact, latents_for(exact));
  set.subset().resize_interpolation = "lanczos";
  QCOMPARE(reason(set, image), id(kOtherResize));
  QCOMPARE(reason(set, exact), std::string());  // it is not resized at all
  set.subset().resize_interpolation = "area";   // what automatic chose, since both sides shrink
  QCOMPARE(reason(set, image), std::string());
  dataset::Image cropped = image;
  cropped.fit.resized.width += 3;
  QCOMPARE(reason(set, cropped), id(kOtherResize));
}

void TestLatentCache::aReplacedImageMakesItStale() {
  PictureSet set;
  const dataset::Image &image = set.add("a.png", 100, 70), &other = set.add("b.png", 100, 70);
  LatentCache cache(on_disk());
  cache.put(set.dataset, image, latents_for(image));
  cache.put(set.dataset, other, latents_for(other));
  change_picture(image);
  QCOMPARE(reason(set, image), id(kImageChanged));
  QCOMPARE(reason(set, other), std::string());  // only what changed is made again
}

void TestLatentCache::aTouchedImageDoesNot() {
  PictureSet set;
  const dataset::Image& image = set.add("a.png", 100, 70);
  LatentCache(on_disk()).put(set.dataset, image, latents_for(image));
  fs::last_write_time(image.path, fs::last_write_time(image.path) + std::chrono::hours(1));
  QCOMPARE(reason(set, image), std::string());
}

void TestLatentCache::aChangeBehindSizeAndTimeIsFoundWhenAskedFor() {
  PictureSet set;
  const dataset::Image& image = set.add("a.png", 100, 70);
  LatentCache(on_disk()).put(set.dataset, image, latents_for(image));
  const auto time = fs::last_write_time(image.path);
  std::string bytes = read_text(image.path);
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  write_text(image.path, bytes);
  fs::last_write_time(image.path, time);
  QCOMPARE(reason(set, image), std::string());
  LatentCacheOptions thorough = on_disk();
  thorough.recheck = true;
  QCOMPARE(reason(set, image, thorough), id(kImageChanged));
}

void TestLatentCache::sameNamesInTwoFoldersAreTwoEntries() {
  PictureSet set;
  set.add("a/img.png", 100, 70);
  set.add("b/img.png", 70, 100);
  set.add("b/img2.png", 100, 70);
  LatentCache cache(on_disk());
  for (const dataset::Image& image : set.dataset.images) {
    cache.put(set.dataset, image, latents_for(image, static_cast<double>(image.key.size())));
  }
  for (const dataset::Image& image : set.dataset.images) {
    QCOMPARE(reason(set, image), std::string());
    const at::Tensor expected = latents_for(image, static_cast<double>(image.key.size())).latents;
    QVERIFY(cache.get(set.dataset, image).latents.equal(expected));
  }
}

void TestLatentCache::aFileOfTheReferenceIsTrusted() {
  PictureSet set;
  const dataset::Image& image = set.add("a.png", 100, 70);
  NpzTensors arrays;
  arrays.add(format("latents_{}x{}", image.fit.bucket.height / 8, image.fit.bucket.width / 8),
             latents_for(image).latents);
  io::write_npz(image.latent_cache, arrays.arrays());
  QCOMPARE(reason(set, image), std::string());
  QVERIFY(LatentCache(on_disk()).get(set.dataset, image).latents.equal(latents_for(image).latents));
}

void TestLatentCache::aFileWrittenSinceByAnotherProgramIsTrusted() {
  PictureSet set;
  const dataset::Image& image = set.add("a.png", 100, 70);
  LatentCache(on_disk()).put(set.dataset, image, latents_for(image));
  NpzTensors arrays;
  arrays.add(format("latents_{}x{}", image.fit.bucket.height / 8, image.fit.bucket.width / 8),
             latents_for(image, 3.0).latents);
  io::write_npz(image.latent_cache, arrays.arrays());
  QCOMPARE(reason(set, image, on_disk("vae B")), std::string());
}

void TestLatentCache::aMovedFolderIsStillKnown() {
  PictureSet set;
  const dataset::Image& image = set.add("a.png", 100, 70);
  LatentCache(on_disk()).put(set.dataset, image, latents_for(image));
  // A copy without times: what is in the files counts.
  for (const fs::path& path : {image.path, image.latent_cache}) {
    fs::last_write_time(path, fs::last_write_time(path) + std::chrono::hours(5));
  }
  QCOMPARE(reason(set, image), std::string());
  QCOMPARE(reason(set, image, on_disk("vae B")), id(kOtherVae));
}

void TestLatentCache::whatTheSettingsNeedMustBeThere() {
  PictureSet set;
  const dataset::Image& image = set.add("a.png", 100, 70);
  LatentCache(on_disk()).put(set.dataset, image, latents_for(image));
  set.subset().flip_aug = true;
  QCOMPARE(reason(set, image), id(kArrayMissing));
  QVERIFY_EXCEPTION_THROWN(LatentCache(on_disk()).get(set.dataset, image), Error);
  set.subset().flip_aug = false;
  set.subset().alpha_mask = true;
  QCOMPARE(reason(set, image), id(kArrayMissing));
  set.subset().alpha_mask = false;
  dataset::Image larger = image;
  larger.fit.bucket = {96, 48};
  QCOMPARE(reason(set, larger), id(kArrayMissing));
}

void TestLatentCache::anUnreadableFileIsMadeAgain() {
  PictureSet set;
  const dataset::Image& image = set.add("a.png", 100, 70);
  LatentCache(on_disk()).put(set.dataset, image, latents_for(image));
  fs::resize_file(image.latent_cache, fs::file_size(image.latent_cache) / 2);
  QCOMPARE(reason(set, image), id(kUnreadable));
  LatentCache(on_disk()).put(set.dataset, image, latents_for(image));
  QCOMPARE(reason(set, image), std::string());
}

void TestLatentCache::skipCheckTakesAnyFile() {
  PictureSet set;
  const dataset::Image& image = set.add("a.png", 100, 70);
  LatentCacheOptions trusting = on_disk("vae B");
  trusting.skip_check = true;
  QCOMPARE(reason(set, image, trusting), id(kNotCached));
  LatentCache(on_disk("vae A")).put(set.dataset, image, latents_for(image));
  QCOMPARE(reason(set, image, trusting), std::string());
}

void TestLatentCache::otherSizesStayInTheFile() {
  PictureSet set;
  const dataset::Image& image = set.add("a.png", 100, 70);
  dataset::Image small = image;
  small.fit.bucket = small.fit.resized = {48, 32};
  LatentCache cache(on_disk());
  cache.put(set.dataset, image, latents_for(image));
  cache.put(set.dataset, small, latents_for(small, 7.0));
  QCOMPARE(reason(set, image), std::string());
  QCOMPARE(reason(set, small), std::string());
  QVERIFY(cache.get(set.dataset, image).latents.equal(latents_for(image).latents));
  QVERIFY(cache.get(set.dataset, small).latents.equal(latents_for(small, 7.0).latents));
  QCOMPARE(io::NpzFile(image.latent_cache).entries().size(), std::size_t{6});
}

void TestLatentCache::mirroredLatentsOfAnotherVaeDoNotStay() {
  PictureSet set;
  set.subset().flip_aug = true;
  const dataset::Image& image = set.add("a.png", 100, 70);
  CachedLatents both = latents_for(image);
  both.flipped = latents_for(image, 2.0).latents;
  LatentCache(on_disk("vae A")).put(set.dataset, image, both);
  set.subset().flip_aug = false;
  LatentCache(on_disk("vae B")).put(set.dataset, image, latents_for(image));
  set.subset().flip_aug = true;
  QCOMPARE(reason(set, image, on_disk("vae B")), id(kArrayMissing));
}

void TestLatentCache::oldFilesWithAFrameAreRead() {
  PictureSet set;
  const dataset::Image& image = set.add("a.png", 100, 70);
  NpzTensors arrays;
  arrays.add(format("latents_{}x{}", image.fit.bucket.height / 8, image.fit.bucket.width / 8),
             latents_for(image).latents.unsqueeze(1));
  io::write_npz(image.latent_cache, arrays.arrays());
  QCOMPARE(reason(set, image), std::string());
  QVERIFY(LatentCache(on_disk()).get(set.dataset, image).latents.equal(latents_for(image).latents));
}

void TestLatentCache::memoryKeepsTheTypeOfTheVae() {
  PictureSet set;
  const dataset::Image& image = set.add("a.png", 100, 70);
  LatentCache memory({}), disk(on_disk());
  QVERIFY(memory.why_stale(set.dataset, image).has_value());
  const CachedLatents latents = latents_for(image, 0.3, at::kBFloat16);
  memory.put(set.dataset, image, latents);
  disk.put(set.dataset, image, latents);
  QVERIFY(!memory.why_stale(set.dataset, image).has_value());
  QCOMPARE(memory.get(set.dataset, image).latents.scalar_type(), at::kBFloat16);
  QVERIFY(memory.get(set.dataset, image).latents.equal(latents.latents));
  QCOMPARE(disk.get(set.dataset, image).latents.scalar_type(), at::kFloat);
  QVERIFY(disk.get(set.dataset, image).latents.equal(latents.latents.to(at::kFloat)));
}

void TestLatentCache::memoryKeepsSizesApart() {
  PictureSet set;
  const dataset::Image& image = set.add("a.png", 100, 70);
  dataset::Image small = image;
  small.fit.bucket = {48, 32};
  LatentCache memory({});
  memory.put(set.dataset, image, latents_for(image));
  QVERIFY(memory.why_stale(set.dataset, small).has_value());
  memory.put(set.dataset, small, latents_for(small));
  QCOMPARE(memory.get(set.dataset, image).latents.sizes(), latents_for(image).latents.sizes());
}

void TestLatentCache::latentsThatAreNotFiniteAreRefused() {
  PictureSet set;
  const dataset::Image& image = set.add("a.png", 100, 70);
  CachedLatents latents = latents_for(image);
  latents.latents[3][1][2] = std::numeric_limits<float>::quiet_NaN();
  QVERIFY_EXCEPTION_THROWN(LatentCache(on_disk()).put(set.dataset, image, latents), Error);
  QVERIFY(!fs::exists(image.latent_cache));
}

LATHE_TEST(TestLatentCache);
#include "latent_cache_test.moc"
