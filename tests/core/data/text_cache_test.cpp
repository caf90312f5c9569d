#include "core/data/text_cache.h"

#include "core/base/error.h"
#include "core/data/npz_tensor.h"
#include "core/data/stale_reasons.h"
#include "tests/core/data/picture_set.h"
#include "tests/support/tensor_check.h"
#include "tests/support/test_main.h"

using namespace lathe;
using namespace lathe::data;
using lathe::testing::PictureSet;

class TestTextCache : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void givesBackWhatWasPut();
  void hasTheTypesOfTheReference();
  void anEditedCaptionMakesItStale();
  void anotherEncoderMakesItStale();
  void anotherDropoutRateMakesItStaleWhenAskedFor();
  void aFileOfTheReferenceIsTrusted();
  void allFiveArraysMustBeThere();
  void readsTheRateAlone();
  void memoryKeepsCaptionsApart();
};

namespace {

TextOutputs outputs_for(double value, at::ScalarType type = at::kFloat) {
  TextOutputs outputs;
  outputs.embeddings = (at::arange(8 * 4, at::kFloat).reshape({8, 4}) + value).to(type);
  outputs.mask = at::arange(8, at::kLong).lt(5).to(at::kLong);
  outputs.t5_ids = at::arange(8, at::kLong);
  outputs.t5_mask = at::arange(8, at::kLong).lt(6).to(at::kLong);
  outputs.caption_dropout_rate = 0.1;
  return outputs;
}

TextCacheOptions on_disk(const std::string& encoder = "encoder A") {
  TextCacheOptions options;
  options.on_disk = true;
  options.encoder_fingerprint = encoder;
  return options;
}

std::string reason(const dataset::Image& image, const TextCacheOptions& options = on_disk(),
                   std::optional<double> rate = std::nullopt) {
  const auto stale = TextCache(options).why_stale(image, rate);
  return stale ? stale->id : std::string();
}

std::string id(TextId text) {
  return std::string(text.id);
}

}  // namespace

void TestTextCache::givesBackWhatWasPut() {
  PictureSet set;
  const dataset::Image& image = set.add("a.png", 64, 64);
  for (const bool disk : {true, false}) {
    TextCache cache(disk ? on_disk() : TextCacheOptions{});
    QVERIFY(cache.why_stale(image).has_value());
    cache.put(image, outputs_for(0.5));
    QVERIFY(!cache.why_stale(image).has_value());
    const TextOutputs back = cache.get(image), expected = outputs_for(0.5);
    QVERIFY(back.embeddings.equal(expected.embeddings));
    QVERIFY(back.mask.equal(expected.mask));
    QVERIFY(back.t5_ids.equal(expected.t5_ids));
    QVERIFY(back.t5_mask.equal(expected.t5_mask));
    QCOMPARE(back.caption_dropout_rate, static_cast<double>(0.1f));  // it is kept in fp32
  }
}

void TestTextCache::hasTheTypesOfTheReference() {
  PictureSet set;
  const dataset::Image& image = set.add("a.png", 64, 64);
  TextCache(on_disk()).put(image, outputs_for(0.5, at::kBFloat16));
  const io::NpzFile file(image.text_cache);
  QCOMPARE(*file.find("prompt_embeds")->dtype, io::DType::F32);
  QCOMPARE(*file.find("attn_mask")->dtype, io::DType::I64);
  QCOMPARE(*file.find("t5_input_ids")->dtype, io::DType::I32);
  QCOMPARE(*file.find("t5_attn_mask")->dtype, io::DType::I32);
  QCOMPARE(*file.find("caption_dropout_rate")->dtype, io::DType::F32);
  QCOMPARE(file.find("caption_dropout_rate")->shape.size(), std::size_t{0});
  TextCache(on_disk()).put(image, outputs_for(0.5, at::kHalf));
  QCOMPARE(*io::NpzFile(image.text_cache).find("prompt_embeds")->dtype, io::DType::F16);
}

void TestTextCache::anEditedCaptionMakesItStale() {
  PictureSet set;
  set.add("a.png", 64, 64);
  set.add("b.png", 64, 64);
  auto& images = set.dataset.images;
  TextCache cache(on_disk());
  for (const dataset::Image& image : images) cache.put(image, outputs_for(0.5));
  images[0].caption += ", edited";
  QCOMPARE(reason(images[0]), id(kCaptionChanged));
  QCOMPARE(reason(images[1]), std::string());
  TextCache(on_disk()).put(images[0], outputs_for(0.75));
  QCOMPARE(reason(images[0]), std::string());
}

void TestTextCache::anotherEncoderMakesItStale() {
  PictureSet set;
  const dataset::Image& image = set.add("a.png", 64, 64);
  TextCache(on_disk()).put(image, outputs_for(0.5));
  QCOMPARE(reason(image, on_disk("encoder B")), id(kOtherEncoder));
  QCOMPARE(reason(image, on_disk("")), std::string());
  TextCacheOptions trusting = on_disk("encoder B");
  trusting.skip_check = true;
  QCOMPARE(reason(image, trusting), std::string());
}

void TestTextCache::anotherDropoutRateMakesItStaleWhenAskedFor() {
  PictureSet set;
  const dataset::Image& image = set.add("a.png", 64, 64);
  TextCache(on_disk()).put(image, outputs_for(0.5));
  QCOMPARE(reason(image, on_disk(), 0.1), std::string());
  QCOMPARE(reason(image, on_disk(), 0.2), id(kOtherDropout));
  QCOMPARE(reason(image, on_disk()), std::string());
}

void TestTextCache::aFileOfTheReferenceIsTrusted() {
  PictureSet set;
  dataset::Image& image = set.add("a.png", 64, 64);
  TextCache(on_disk()).put(image, outputs_for(0.5));
  std::filesystem::remove(set.path() / "lathe_cache.jsonl");
  image.caption += ", edited";
  QCOMPARE(reason(image, on_disk("encoder B"), 0.7), std::string());
}

void TestTextCache::allFiveArraysMustBeThere() {
  PictureSet set;
  const dataset::Image& image = set.add("a.png", 64, 64);
  TextCache(on_disk()).put(image, outputs_for(0.5));
  const io::NpzFile whole(image.text_cache);
  std::vector<io::NpzArray> arrays;
  for (const io::NpzEntry& entry : whole.entries()) arrays.push_back(whole.read(entry.name));
  QCOMPARE(arrays.size(), std::size_t{5});
  for (const io::NpzArray& left_out : arrays) {
    std::vector<io::TensorToWrite> rest;
    for (const io::NpzArray& array : arrays) {
      if (array.name != left_out.name) rest.push_back({array.name, array.dtype, array.shape, array.bytes});
    }
    io::write_npz(image.text_cache, rest);
    QCOMPARE(reason(image), id(kArrayMissing));
    QVERIFY_EXCEPTION_THROWN(TextCache(on_disk()).get(image), Error);
  }
}

void TestTextCache::readsTheRateAlone() {
  PictureSet set;
  const dataset::Image& image = set.add("a.png", 64, 64);
  TextCache disk(on_disk()), memory({});
  TextOutputs outputs = outputs_for(0.5);
  for (TextCache* cache : {&disk, &memory}) {
    cache->put(image, outputs);
    QCOMPARE(cache->dropout_rate(image), static_cast<double>(0.1f));
  }
  outputs.caption_dropout_rate = 0.25;
  disk.put(image, outputs);
  QCOMPARE(disk.dropout_rate(image), 0.25);
}

void TestTextCache::memoryKeepsCaptionsApart() {
  PictureSet set;
  const dataset::Image& image = set.add("a.png", 64, 64);
  dataset::Image other = image;
  other.caption = "another caption";
  TextCache memory({});
  memory.put(image, outputs_for(1.0));
  QVERIFY(memory.why_stale(other).has_value());
  memory.put(other, outputs_for(2.0));
  QVERIFY(memory.get(image).embeddings.equal(outputs_for(1.0).embeddings));
}

LATHE_TEST(TestTextCache);
#include "text_cache_test.moc"
