#include <algorithm>
#include <filesystem>
#include <regex>

#include "core/data/image_tensor.h"
#include "core/data/latent_cache.h"
#include "core/data/npz_tensor.h"
#include "core/data/text_cache.h"
#include "core/dataset/buckets.h"
#include "core/dataset/cache_names.h"
#include "tests/support/golden.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/tensor_check.h"
#include "tests/support/test_main.h"

using namespace lathe;
using namespace lathe::data;
namespace fs = std::filesystem;

namespace {

constexpr double kTolerance = 1e-6;

// A picture with the caches that the reference made of it: copied to a folder of its own, so that nothing of ours gets
// in between. Sizes come from the names of files and arrays, as the reference itself finds them.
struct Case {
  testing::TemporaryFolder folder;
  dataset::Dataset dataset;
  std::string suffix;  // "_6x10"

  explicit Case(const std::string& stem, const std::string& wanted_suffix = {}) {
    dataset.config.enable_bucket = true;
    dataset.config.subsets.resize(1);
    dataset::Image image;
    image.path = folder.path() / (stem + ".png");
    image.key = image.path.string();
    for (const auto& entry : fs::directory_iterator(testing::golden_folder() / "npz")) {
      const std::string name = entry.path().filename().string();
      if (!name.starts_with(stem)) continue;
      fs::copy_file(entry.path(), folder.path() / name);
      fs::permissions(folder.path() / name, fs::perms::owner_write, fs::perm_options::add);
      if (const auto parsed = dataset::parse_latent_cache_name(name)) {
        image.size = parsed->size;
        image.latent_cache = folder.path() / name;
      } else if (name.ends_with("_anima_te.npz")) {
        image.text_cache = folder.path() / name;
      }
    }
    static const std::regex pattern("latents(_([0-9]+)x([0-9]+))");
    const io::NpzFile file(image.latent_cache);
    for (const io::NpzEntry& entry : file.entries()) {
      std::smatch match;
      if (!std::regex_match(entry.name, match, pattern)) continue;
      if (!wanted_suffix.empty() && match[1] != wanted_suffix) continue;
      suffix = match[1];
      image.fit = dataset::BucketChooser::fit_to(image.size, {8 * std::stoi(match[3]), 8 * std::stoi(match[2])});
    }
    dataset.config.subsets[0].flip_aug = file.find("latents_flipped" + suffix) != nullptr;
    dataset.config.subsets[0].alpha_mask = file.find("alpha_mask" + suffix) != nullptr;
    dataset.images.push_back(image);
  }

  const dataset::Image& image() const { return dataset.images.front(); }
};

LatentCacheOptions on_disk() {
  LatentCacheOptions options;
  options.on_disk = true;
  return options;
}

TextCacheOptions text_on_disk() {
  TextCacheOptions options;
  options.on_disk = true;
  return options;
}

// Every array with type, shape and bytes; of `except` the bytes are left out.
void compare_files(const fs::path& ours, const fs::path& golden, const std::string& except = {}) {
  const io::NpzFile a(ours), b(golden);
  std::vector<std::string> names;
  for (const io::NpzEntry& entry : b.entries()) names.push_back(entry.name);
  QCOMPARE(a.entries().size(), names.size());
  for (const std::string& name : names) {
    const io::NpzArray made = a.read(name), expected = b.read(name);
    QVERIFY2(made.dtype == expected.dtype, name.c_str());
    QVERIFY2(made.shape == expected.shape, name.c_str());
    QVERIFY2(name == except || made.bytes == expected.bytes, name.c_str());
  }
}

}  // namespace

class TestGoldenFlipAlpha : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void theAlphaMaskFollowsFromThePicture();
  void anAlphaValueOnePercentOffIsSeen();
  void readsTheLatentsOfTheReference();
  void writesTheLatentsAsTheReference();
  void addsASizeToAFileOfTheReference();
  void writesTheTextsAsTheReference_data();
  void writesTheTextsAsTheReference();
};

void TestGoldenFlipAlpha::theAlphaMaskFollowsFromThePicture() {
  LATHE_NEEDS_GOLDEN("npz/flip_alpha.png");
  const Case flip_alpha("flip_alpha");
  const at::Tensor mask = load_image_tensor(flip_alpha.dataset, flip_alpha.image()).alpha_mask;
  const at::Tensor golden = read_tensor(io::NpzFile(flip_alpha.image().latent_cache), "alpha_mask" + flip_alpha.suffix);
  LATHE_CLOSE(mask, golden, kTolerance);
}

void TestGoldenFlipAlpha::anAlphaValueOnePercentOffIsSeen() {
  LATHE_NEEDS_GOLDEN("npz/flip_alpha.png");
  const Case flip_alpha("flip_alpha");
  at::Tensor mask = load_image_tensor(flip_alpha.dataset, flip_alpha.image()).alpha_mask;
  mask.flatten()[mask.flatten().argmax().item<std::int64_t>()].mul_(1.01);
  const at::Tensor golden = read_tensor(io::NpzFile(flip_alpha.image().latent_cache), "alpha_mask" + flip_alpha.suffix);
  QVERIFY(testing::relative_difference(mask, golden) > kTolerance);
}

void TestGoldenFlipAlpha::readsTheLatentsOfTheReference() {
  LATHE_NEEDS_GOLDEN("npz/flip_alpha.png");
  const Case flip_alpha("flip_alpha");
  const LatentCache cache(on_disk());
  QVERIFY(!cache.why_stale(flip_alpha.dataset, flip_alpha.image()).has_value());
  const CachedLatents latents = cache.get(flip_alpha.dataset, flip_alpha.image());
  const io::NpzFile file(flip_alpha.image().latent_cache);
  QVERIFY(latents.latents.equal(read_tensor(file, "latents" + flip_alpha.suffix)));
  QVERIFY(latents.flipped.equal(read_tensor(file, "latents_flipped" + flip_alpha.suffix)));
  QVERIFY(latents.alpha_mask.equal(read_tensor(file, "alpha_mask" + flip_alpha.suffix)));
  QVERIFY(!latents.latents.equal(latents.flipped));
}

void TestGoldenFlipAlpha::writesTheLatentsAsTheReference() {
  LATHE_NEEDS_GOLDEN("npz/flip_alpha.png");
  const Case flip_alpha("flip_alpha");
  const CachedLatents latents = LatentCache(on_disk()).get(flip_alpha.dataset, flip_alpha.image());
  fs::remove(flip_alpha.image().latent_cache);
  LatentCache(on_disk()).put(flip_alpha.dataset, flip_alpha.image(), latents);
  compare_files(flip_alpha.image().latent_cache,
                testing::golden_folder() / "npz" / flip_alpha.image().latent_cache.filename());
}

void TestGoldenFlipAlpha::addsASizeToAFileOfTheReference() {
  LATHE_NEEDS_GOLDEN("npz/sample_0100x0070_anima.npz");
  LATHE_NEEDS_GOLDEN("npz/flip_alpha.png");
  // The sample holds two sizes. One is made anew with the same numbers; the other must stay as it is.
  const Case sample("sample", "_4x6");
  fs::copy_file(testing::golden_folder() / "npz/flip_alpha.png", sample.image().path);
  const LatentCache reader(on_disk());
  QVERIFY(!reader.why_stale(sample.dataset, sample.image()).has_value());
  CachedLatents latents = reader.get(sample.dataset, sample.image());
  LatentCache(on_disk()).put(sample.dataset, sample.image(), latents);
  compare_files(sample.image().latent_cache, testing::golden_folder() / "npz/sample_0100x0070_anima.npz",
                "crop_ltrb" + sample.suffix);  // the sample's crops are no real ones
}

void TestGoldenFlipAlpha::writesTheTextsAsTheReference_data() {
  QTest::addColumn<QString>("stem");
  QTest::newRow("flip_alpha") << "flip_alpha";
  QTest::newRow("sample") << "sample";
}

void TestGoldenFlipAlpha::writesTheTextsAsTheReference() {
  LATHE_NEEDS_GOLDEN("npz/flip_alpha_anima_te.npz");
  LATHE_NEEDS_GOLDEN("npz/sample_anima_te.npz");
  QFETCH(QString, stem);
  const Case files(stem.toStdString());
  QVERIFY(!TextCache(text_on_disk()).why_stale(files.image()).has_value());
  const TextOutputs outputs = TextCache(text_on_disk()).get(files.image());
  fs::remove(files.image().text_cache);
  TextCache(text_on_disk()).put(files.image(), outputs);
  compare_files(files.image().text_cache, testing::golden_folder() / "npz" / files.image().text_cache.filename());
}

LATHE_TEST(TestGoldenFlipAlpha);
#include "golden_flip_alpha_test.moc"
