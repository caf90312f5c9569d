#include "core/dataset/assemble.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <unordered_map>

#include "core/base/error.h"
#include "core/base/hash.h"
#include "core/base/paths.h"
#include "core/dataset/buckets.h"
#include "core/dataset/cache_names.h"
#include "core/dataset/regularisation.h"
#include "core/dataset/resize.h"
#include "core/dataset/tags.h"

namespace lathe::dataset {

namespace {

constexpr TextId kNoBucket = LATHE_TEXT("dataset.skipped.no_bucket", "{}");

// Images in registration order: all that are trained, then the regularisation images that are used.
std::vector<Image> registered(const Dataset& dataset, const std::vector<std::vector<FoundImage>>& found) {
  std::vector<Image> images, regularisation;
  std::vector<std::int64_t> repeats;
  for (std::size_t s = 0; s < found.size(); ++s) {
    const config::SubsetConfig& subset = dataset.config.subsets[s];
    for (const FoundImage& from : found[s]) {
      Image image;
      image.key = from.key;
      image.path = from.path;
      image.caption = from.caption;
      image.caption_file = from.caption_file;
      image.size = from.size;
      image.repeats = subset.num_repeats;
      image.is_reg = subset.is_reg;
      image.subset = s;
      if (subset.is_reg) repeats.push_back(subset.num_repeats);
      (subset.is_reg ? regularisation : images).push_back(std::move(image));
    }
  }
  const std::vector<std::int64_t> used = regularisation_repeats(dataset.training_items(false), repeats);
  for (std::size_t i = 0; i < regularisation.size(); ++i) {
    if (used[i] == 0) continue;
    regularisation[i].repeats = used[i];
    images.push_back(std::move(regularisation[i]));
  }
  return images;
}

void count_tags(Dataset& dataset, const std::vector<std::vector<FoundImage>>& found) {
  TagCounter counter;
  const bool metadata = dataset.config.kind == config::DatasetKind::metadata;
  for (std::size_t s = 0; s < found.size(); ++s) {
    if (found[s].empty()) continue;
    std::vector<std::string_view> captions;
    for (const FoundImage& image : found[s]) captions.push_back(metadata ? image.tags : image.caption);
    counter.add(tag_folder(dataset.config.kind, dataset.config.subsets[s]), captions);
  }
  dataset.tag_frequency = counter.take();
}

double ratio(Size size) {
  return static_cast<double>(size.width) / size.height;
}

void fill_buckets(Dataset& dataset) {
  std::map<Size, std::vector<std::size_t>> buckets;
  double error = 0.0;
  for (std::size_t i = 0; i < dataset.images.size(); ++i) {
    const Image& image = dataset.images[i];
    std::vector<std::size_t>& items = buckets[image.fit.bucket];
    items.insert(items.end(), static_cast<std::size_t>(image.repeats), i);
    error += std::abs(image.fit.aspect_error);
  }
  dataset.buckets.clear();
  for (auto& [size, items] : buckets) dataset.buckets.push_back({size, std::move(items)});
  dataset.mean_aspect_error = dataset.images.empty() ? 0.0 : error / static_cast<double>(dataset.images.size());
}

}  // namespace

Dataset assemble(const config::DatasetConfig& config, const std::vector<std::vector<FoundImage>>& found,
                 BucketRemainder remainder, std::vector<SkippedFile>& skipped) {
  Dataset dataset;
  dataset.config = config;
  dataset.remainder = remainder;

  const BucketChooser chooser(config);
  for (std::size_t s = 0; s < config.subsets.size(); ++s) static_cast<void>(interpolation_of(config, s));
  std::unordered_map<std::string, Fit> fits;
  std::vector<std::vector<FoundImage>> usable(found.size());
  for (std::size_t s = 0; s < found.size(); ++s) {
    for (const FoundImage& image : found[s]) {
      try {
        fits[image.key] = chooser.fit(image.size);
        usable[s].push_back(image);
      } catch (const Error& error) {
        skipped.push_back({image.path, message(kNoBucket, error.message())});
      }
    }
    dataset.subset_images.push_back(static_cast<std::int64_t>(usable[s].size()));
  }

  dataset.images = registered(dataset, usable);
  for (Image& image : dataset.images) image.fit = fits.at(image.key);
  count_tags(dataset, usable);
  fill_buckets(dataset);
  if (remainder == BucketRemainder::merge) merge_small_buckets(dataset);
  return dataset;
}

void merge_small_buckets(Dataset& dataset) {
  const auto batch = static_cast<std::size_t>(std::max<std::int64_t>(dataset.config.batch_size, 1));
  while (dataset.buckets.size() > 1) {
    const auto smallest =
        std::ranges::min_element(dataset.buckets, {}, [](const Bucket& bucket) { return bucket.items.size(); });
    if (smallest->items.size() >= batch) return;
    const Bucket leaving = *smallest;
    dataset.buckets.erase(smallest);
    const auto nearest = std::ranges::min_element(
        dataset.buckets, {}, [&](const Bucket& bucket) { return std::abs(ratio(bucket.size) - ratio(leaving.size)); });
    for (const std::size_t item : leaving.items) {
      Image& image = dataset.images[item];
      image.fit = BucketChooser::fit_to(image.size, nearest->size);
    }
    fill_buckets(dataset);
  }
}

void assign_cache_files(const std::vector<Dataset*>& datasets) {
  std::unordered_map<std::string, std::string> image_of, caption_of;  // by the name of the cache file
  for (Dataset* dataset : datasets) {
    for (Image& image : dataset->images) {
      std::string latents = latent_cache_name(image.key, image.size);
      const auto [first, is_new] = image_of.try_emplace(latents, image.key);
      // With a second ending split_extension() leaves the image's own in the stem.
      if (!is_new && first->second != image.key) latents = latent_cache_name(image.key + ".npz", image.size);
      image.latent_cache = from_utf8(latents);

      std::string text = text_cache_name(image.key);
      const auto [caption, is_first] = caption_of.try_emplace(text, image.caption);
      if (!is_first && caption->second != image.caption) {
        text = text_cache_name(split_extension(image.key).stem + "." + sha256_hex(image.caption).substr(0, 8) + ".npz");
      }
      image.text_cache = from_utf8(text);
    }
  }
}

}  // namespace lathe::dataset
