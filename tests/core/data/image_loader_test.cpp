#include "core/data/image_loader.h"

#include <algorithm>
#include <thread>

#include "core/base/error.h"
#include "core/base/paths.h"
#include "core/data/image_tensor.h"
#include "tests/core/data/picture_set.h"
#include "tests/support/tensor_check.h"
#include "tests/support/test_main.h"

using namespace lathe;
using namespace lathe::data;
using lathe::testing::PictureSet;

class TestImageLoader : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void givesTheSameForAnyNumberOfWorkers_data();
  void givesTheSameForAnyNumberOfWorkers();
  void givesWhatTheCachesHold();
  void flipsPictureAndMask();
  void takesMirroredLatents();
  void dropsCaptionsByTheCachedRate();
  void drawsForEveryItemAsSoonAsOneRateIsSet();
  void weighsRegularisationImages();
  void fillsUpTextsOfUnequalLength();
  void namesABrokenImageAndGoesOn_data();
  void namesABrokenImageAndGoesOn();
  void skippedBatchesDrawAllTheSame();
  void aNewEpochDropsTheOldOne();
  void warmUpFollowsTheSteps();
  void refusesWhatItDoesNotDo();
  void workersRunAhead();

 private:
  const text::Qwen3Tokenizer qwen3_ = text::Qwen3Tokenizer::load(resource_folder() / "tokenizers" / "qwen3");
  const text::T5Tokenizer t5_ = text::T5Tokenizer::load(resource_folder() / "tokenizers" / "t5");
};

namespace {

// Nine pictures in three buckets, batches of two; everything that chance decides without a cache is on.
struct Scene {
  PictureSet set;
  std::vector<dataset::Dataset> datasets;
  std::vector<dataset::Batch> order;

  explicit Scene(const std::function<void(config::SubsetConfig&)>& settings = {}) {
    set.dataset.config.batch_size = 2;
    if (settings) settings(set.subset());
    const std::pair<int, int> sizes[] = {{64, 64}, {100, 70}, {70, 100}};
    for (int i = 0; i < 9; ++i) {
      const auto [width, height] = sizes[i % 3];
      set.add("picture" + std::to_string(i) + ".png", width, height).caption =
          "one, two, three, four, " + std::to_string(i);
    }
    for (std::size_t bucket = 0; bucket < 3; ++bucket) {
      set.dataset.buckets.push_back({set.dataset.images[bucket].fit.bucket, {bucket, bucket + 3, bucket + 6}});
    }
    datasets.push_back(set.dataset);
    for (std::size_t bucket = 0; bucket < 3; ++bucket) {
      order.push_back({0, bucket, {bucket + 3, bucket}});
      order.push_back({0, bucket, {bucket + 6}});
    }
  }
};

LoaderOptions with_workers(int workers) {
  LoaderOptions options;
  options.workers = workers;
  options.prefetch = 2;
  options.qwen3_length = options.t5_length = 24;
  return options;
}

bool same(const at::Tensor& a, const at::Tensor& b) {
  if (!a.defined() || !b.defined()) return a.defined() == b.defined();
  return a.scalar_type() == b.scalar_type() && a.equal(b);
}

bool same(const TrainBatch& a, const TrainBatch& b) {
  return same(a.latents, b.latents) && same(a.pixels, b.pixels) && same(a.embeddings, b.embeddings) &&
         same(a.text_mask, b.text_mask) && same(a.qwen3_ids, b.qwen3_ids) && same(a.t5_ids, b.t5_ids) &&
         same(a.t5_mask, b.t5_mask) && same(a.loss_weights, b.loss_weights) && same(a.alpha_mask, b.alpha_mask) &&
         a.captions == b.captions && a.flipped == b.flipped && a.dropped == b.dropped && a.batch == b.batch &&
         a.bucket == b.bucket;
}

std::vector<TrainBatch> all(ImageLoader& loader) {
  std::vector<TrainBatch> batches;
  while (auto batch = loader.next()) batches.push_back(std::move(*batch));
  return batches;
}

CachedLatents latents_for(const dataset::Image& image, double value) {
  const std::int64_t h = image.fit.bucket.height / 8, w = image.fit.bucket.width / 8;
  CachedLatents latents;
  latents.latents = at::full({16, h, w}, value);
  latents.flipped = at::full({16, h, w}, -value);
  latents.alpha_mask = (at::arange(64 * h * w, at::kFloat) / static_cast<double>(64 * h * w)).reshape({8 * h, 8 * w});
  return latents;
}

TextOutputs texts_for(double value, double rate, std::int64_t length = 6) {
  TextOutputs outputs;
  outputs.embeddings = at::full({length, 4}, value);
  outputs.mask = at::ones({length}, at::kLong);
  outputs.t5_ids = at::full({length}, 9, at::kLong);
  outputs.t5_mask = at::ones({length}, at::kLong);
  outputs.caption_dropout_rate = rate;
  return outputs;
}

// Image i: latents of value i + 1, text of value i + 1.
struct Caches {
  LatentCache latents{LatentCacheOptions{}};
  TextCache texts{TextCacheOptions{}};

  explicit Caches(const Scene& scene, double rate = 0.0) {
    const dataset::Dataset& dataset = scene.datasets.front();
    for (std::size_t i = 0; i < dataset.images.size(); ++i) {
      latents.put(dataset, dataset.images[i], latents_for(dataset.images[i], static_cast<double>(i + 1)));
      texts.put(dataset.images[i], texts_for(static_cast<double>(i + 1), rate));
    }
  }
};

}  // namespace

void TestImageLoader::givesTheSameForAnyNumberOfWorkers_data() {
  QTest::addColumn<bool>("cached");
  QTest::newRow("pictures and captions") << false;
  QTest::newRow("caches") << true;
}

void TestImageLoader::givesTheSameForAnyNumberOfWorkers() {
  QFETCH(bool, cached);
  Scene scene([cached](config::SubsetConfig& subset) {
    subset.flip_aug = true;
    subset.alpha_mask = true;
    subset.random_crop = !cached;
    subset.shuffle_caption = !cached;
    subset.caption_tag_dropout_rate = cached ? 0.0 : 0.3;
    subset.caption_dropout_rate = 0.2;
  });
  const Caches caches(scene, 0.4);
  std::vector<TrainBatch> expected;
  for (const int workers : {0, 1, 4}) {
    ImageLoader loader(scene.datasets, cached ? &caches.latents : nullptr, cached ? &caches.texts : nullptr, &qwen3_,
                       &t5_, with_workers(workers));
    std::vector<TrainBatch> batches;
    for (std::int64_t epoch = 1; epoch <= 3; ++epoch) {
      loader.start_epoch(scene.order, PythonRandom(static_cast<std::uint64_t>(epoch)), epoch, 0, 1.0);
      for (TrainBatch& batch : all(loader)) batches.push_back(std::move(batch));
    }
    QCOMPARE(batches.size(), 3 * scene.order.size());
    if (expected.empty())
      expected = std::move(batches);
    else
      QVERIFY(std::ranges::equal(batches, expected, [](const auto& a, const auto& b) { return same(a, b); }));
  }
  const auto chance = [&](auto member) {
    return std::ranges::any_of(expected,
                               [&](const TrainBatch& batch) { return std::ranges::count(batch.*member, true); });
  };
  QVERIFY(chance(&TrainBatch::flipped));
  QVERIFY(chance(&TrainBatch::dropped));
}

void TestImageLoader::givesWhatTheCachesHold() {
  const Scene scene;
  const Caches caches(scene);
  ImageLoader loader(scene.datasets, &caches.latents, &caches.texts, nullptr, nullptr, with_workers(2));
  loader.start_epoch(scene.order, PythonRandom(1), 1, 0, 1.0);
  const std::vector<TrainBatch> batches = all(loader);
  QCOMPARE(batches.size(), scene.order.size());
  for (std::size_t i = 0; i < batches.size(); ++i) {
    const TrainBatch& batch = batches[i];
    QVERIFY(batch.batch == scene.order[i]);
    QVERIFY(!batch.pixels.defined() && !batch.qwen3_ids.defined());
    QCOMPARE(batch.latents.size(2) * 8, std::int64_t{batch.bucket.height});
    for (std::size_t item = 0; item < batch.batch.items.size(); ++item) {
      const double value = static_cast<double>(batch.batch.items[item] + 1);
      const auto row = static_cast<std::int64_t>(item);
      QVERIFY(batch.latents[row].eq(value).all().item<bool>());
      QVERIFY(batch.embeddings[row].eq(value).all().item<bool>());
      QCOMPARE(batch.captions[item], scene.datasets[0].images[batch.batch.items[item]].caption);
    }
    QVERIFY(batch.loss_weights.eq(1.0).all().item<bool>());
    QVERIFY(!batch.alpha_mask.defined());
  }
}

void TestImageLoader::flipsPictureAndMask() {
  Scene scene([](config::SubsetConfig& subset) { subset.flip_aug = subset.alpha_mask = true; });
  ImageLoader loader(scene.datasets, nullptr, nullptr, &qwen3_, &t5_, with_workers(0));
  loader.start_epoch(scene.order, PythonRandom(1), 1, 0, 1.0);
  PythonRandom random(1);
  int mirrored = 0;
  for (const TrainBatch& batch : all(loader)) {
    for (std::size_t item = 0; item < batch.batch.items.size(); ++item) {
      const bool flip = random.random() < 0.5;
      mirrored += flip;
      QCOMPARE(static_cast<bool>(batch.flipped[item]), flip);
      const ImageTensor image = load_image_tensor(scene.datasets[0], scene.datasets[0].images[batch.batch.items[item]]);
      const auto row = static_cast<std::int64_t>(item);
      QVERIFY(batch.pixels[row].equal(flip ? image.pixels.flip({2}) : image.pixels));
      QVERIFY(batch.alpha_mask[row].equal(flip ? image.alpha_mask.flip({1}) : image.alpha_mask));
    }
  }
  QVERIFY(mirrored > 0 && mirrored < 9);
}

void TestImageLoader::takesMirroredLatents() {
  Scene scene([](config::SubsetConfig& subset) { subset.flip_aug = subset.alpha_mask = true; });
  const Caches caches(scene);
  ImageLoader loader(scene.datasets, &caches.latents, &caches.texts, nullptr, nullptr, with_workers(1));
  loader.start_epoch(scene.order, PythonRandom(1), 1, 0, 1.0);
  for (const TrainBatch& batch : all(loader)) {
    for (std::size_t item = 0; item < batch.batch.items.size(); ++item) {
      const auto row = static_cast<std::int64_t>(item);
      const CachedLatents cached = latents_for(scene.datasets[0].images[batch.batch.items[item]],
                                               static_cast<double>(batch.batch.items[item] + 1));
      QVERIFY(batch.latents[row].equal(batch.flipped[item] ? cached.flipped : cached.latents));
      QVERIFY(batch.alpha_mask[row].equal(batch.flipped[item] ? cached.alpha_mask.flip({1}) : cached.alpha_mask));
    }
  }
}

void TestImageLoader::dropsCaptionsByTheCachedRate() {
  const Scene scene;
  const Caches caches(scene, 0.5);
  ImageLoader loader(scene.datasets, &caches.latents, &caches.texts, nullptr, nullptr, with_workers(0));
  loader.start_epoch(scene.order, PythonRandom(3), 1, 0, 1.0);
  PythonRandom random(3);
  int dropped = 0;
  for (const TrainBatch& batch : all(loader)) {
    for (std::size_t item = 0; item < batch.batch.items.size(); ++item) {
      const bool drop = random.random() < 0.5;
      dropped += drop;
      const auto row = static_cast<std::int64_t>(item);
      QCOMPARE(static_cast<bool>(batch.dropped[item]), drop);
      QCOMPARE(batch.captions[item].empty(), drop);
      if (!drop) continue;
      const at::Tensor end_alone = at::tensor(std::vector<std::int64_t>{1, 0, 0, 0, 0, 0});
      QVERIFY(batch.embeddings[row].eq(0).all().item<bool>());
      QVERIFY(batch.text_mask[row].eq(0).all().item<bool>());
      QVERIFY(batch.t5_ids[row].equal(end_alone));
      QVERIFY(batch.t5_mask[row].equal(end_alone));
    }
  }
  QVERIFY(dropped > 0 && dropped < 9);
  // What an empty text is encoded as.
  QCOMPARE(t5_.row("", 6).ids, (std::vector<std::int32_t>{1, 0, 0, 0, 0, 0}));
  QCOMPARE(qwen3_.row("", 6).mask, (std::vector<std::int32_t>{0, 0, 0, 0, 0, 0}));
}

void TestImageLoader::drawsForEveryItemAsSoonAsOneRateIsSet() {
  const Scene scene;
  Caches caches(scene);
  // In the first batch the second item alone may be dropped; its draw is the second one.
  const dataset::Image& second = scene.datasets[0].images[scene.order[0].items[1]];
  caches.texts.put(second, texts_for(1.0, 0.5));
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    ImageLoader loader(scene.datasets, &caches.latents, &caches.texts, nullptr, nullptr, with_workers(0));
    loader.start_epoch({scene.order[0]}, PythonRandom(seed), 1, 0, 1.0);
    PythonRandom random(seed);
    random.random();
    const auto batch = loader.next();
    QVERIFY(!batch->dropped[0]);
    QCOMPARE(static_cast<bool>(batch->dropped[1]), random.random() < 0.5);
  }
}

void TestImageLoader::weighsRegularisationImages() {
  Scene scene;
  scene.datasets[0].images[scene.order[0].items[1]].is_reg = true;
  const Caches caches(scene);
  LoaderOptions options = with_workers(0);
  options.prior_loss_weight = 0.25;
  ImageLoader loader(scene.datasets, &caches.latents, &caches.texts, nullptr, nullptr, options);
  loader.start_epoch(scene.order, PythonRandom(1), 1, 0, 1.0);
  QVERIFY(loader.next()->loss_weights.equal(at::tensor(std::vector<float>{1.0f, 0.25f})));
}

void TestImageLoader::fillsUpTextsOfUnequalLength() {
  const Scene scene;
  Caches caches(scene);
  caches.texts.put(scene.datasets[0].images[scene.order[0].items[1]], texts_for(5.0, 0.0, 9));
  ImageLoader loader(scene.datasets, &caches.latents, &caches.texts, nullptr, nullptr, with_workers(0));
  loader.start_epoch(scene.order, PythonRandom(1), 1, 0, 1.0);
  const auto batch = loader.next();
  QCOMPARE(batch->embeddings.sizes().vec(), (std::vector<std::int64_t>{2, 9, 4}));
  QVERIFY(batch->embeddings[0].narrow(0, 6, 3).eq(0).all().item<bool>());
  QVERIFY(batch->text_mask[0].equal(at::tensor(std::vector<std::int64_t>{1, 1, 1, 1, 1, 1, 0, 0, 0})));
}

void TestImageLoader::namesABrokenImageAndGoesOn_data() {
  QTest::addColumn<int>("workers");
  QTest::newRow("no worker") << 0;
  QTest::newRow("three workers") << 3;
}

void TestImageLoader::namesABrokenImageAndGoesOn() {
  QFETCH(int, workers);
  const Scene scene;
  const dataset::Image& broken = scene.datasets[0].images[scene.order[1].items[0]];
  std::filesystem::resize_file(broken.path, 200);
  ImageLoader loader(scene.datasets, nullptr, nullptr, &qwen3_, &t5_, with_workers(workers));
  loader.start_epoch(scene.order, PythonRandom(1), 1, 0, 1.0);
  QVERIFY(loader.next().has_value());
  try {
    loader.next();
    QFAIL("a cut-off file was decoded");
  } catch (const Error& error) {
    QCOMPARE(error.kind(), ErrorKind::dataset);
    QVERIFY(error.message().find(to_utf8(broken.path.filename())) != std::string::npos);
  }
  QCOMPARE(all(loader).size(), scene.order.size() - 2);
}

void TestImageLoader::skippedBatchesDrawAllTheSame() {
  Scene scene([](config::SubsetConfig& subset) { subset.flip_aug = subset.shuffle_caption = true; });
  for (const int workers : {0, 2}) {
    ImageLoader loader(scene.datasets, nullptr, nullptr, &qwen3_, &t5_, with_workers(workers));
    loader.start_epoch(scene.order, PythonRandom(4), 1, 0, 1.0);
    const std::vector<TrainBatch> whole = all(loader);
    loader.start_epoch(scene.order, PythonRandom(4), 1, 0, 1.0, 4);
    const std::vector<TrainBatch> rest = all(loader);
    QCOMPARE(rest.size(), whole.size() - 4);
    for (std::size_t i = 0; i < rest.size(); ++i) QVERIFY(same(rest[i], whole[i + 4]));
  }
}

void TestImageLoader::aNewEpochDropsTheOldOne() {
  Scene scene;
  const Caches caches(scene);
  ImageLoader loader(scene.datasets, &caches.latents, &caches.texts, nullptr, nullptr, with_workers(3));
  for (int i = 0; i < 20; ++i) {
    loader.start_epoch(scene.order, PythonRandom(1), 1, 0, 1.0);
    QVERIFY(loader.next()->batch == scene.order[0]);
  }
  std::ranges::reverse(scene.order);
  loader.start_epoch(scene.order, PythonRandom(1), 2, 0, 1.0);
  const std::vector<TrainBatch> batches = all(loader);
  QCOMPARE(batches.size(), scene.order.size());
  for (std::size_t i = 0; i < batches.size(); ++i) QVERIFY(batches[i].batch == scene.order[i]);
  QVERIFY(!loader.next().has_value());
}

void TestImageLoader::warmUpFollowsTheSteps() {
  // From step 4 on all five tags are used; before, 1 + floor(step · (4 / 4)).
  Scene scene([](config::SubsetConfig& subset) {
    subset.token_warmup_step = 4;
    subset.token_warmup_min = 1;
  });
  ImageLoader loader(scene.datasets, nullptr, nullptr, &qwen3_, &t5_, with_workers(0));
  loader.start_epoch(scene.order, PythonRandom(1), 1, 1, 0.5);
  std::vector<std::int64_t> tags;
  for (const TrainBatch& batch : all(loader)) tags.push_back(std::ranges::count(batch.captions[0], ',') + 1);
  QCOMPARE(tags, (std::vector<std::int64_t>{2, 2, 3, 3, 4, 4}));
}

void TestImageLoader::refusesWhatItDoesNotDo() {
  const Scene colour([](config::SubsetConfig& subset) { subset.color_aug = true; });
  QVERIFY_EXCEPTION_THROWN(ImageLoader(colour.datasets, nullptr, nullptr, &qwen3_, &t5_, with_workers(0)), Error);
  const Scene crop([](config::SubsetConfig& subset) { subset.random_crop = true; });
  const Caches caches(crop);
  QVERIFY_EXCEPTION_THROWN(
      ImageLoader(crop.datasets, &caches.latents, &caches.texts, nullptr, nullptr, with_workers(0)), Error);
}

void TestImageLoader::workersRunAhead() {
  const Scene scene;
  const Caches caches(scene);
  ImageLoader loader(scene.datasets, &caches.latents, &caches.texts, nullptr, nullptr, with_workers(2));
  loader.start_epoch(scene.order, PythonRandom(1), 1, 0, 1.0);
  loader.next();
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  const auto batch = loader.next();
  QVERIFY2(batch->wait_seconds < 0.1, qPrintable(QString::number(batch->wait_seconds)));
}

LATHE_TEST(TestImageLoader);
#include "image_loader_test.moc"
