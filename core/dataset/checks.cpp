#include "core/dataset/checks.h"

#include <algorithm>
#include <set>

#include "core/base/format.h"
#include "core/base/paths.h"
#include "core/dataset/folder_listing.h"

namespace lathe::dataset {

namespace {

constexpr TextId kNothing =
    LATHE_TEXT("dataset.nothing", "there are no images to train on; check image_dir (or train_data_dir)");
constexpr TextId kNoDatasets = LATHE_TEXT(
    "dataset.no_datasets", "no dataset is given; set dataset_config, or train_data_dir with subfolders named N_name");
constexpr TextId kSmallBucket =
    LATHE_TEXT("dataset.small_bucket", "the bucket {}x{} holds {} items, fewer than a batch of {}: {}");
constexpr TextId kSmallBuckets =
    LATHE_TEXT("dataset.small_buckets",
               "{} of {} buckets hold fewer items than a batch of {}; as in the reference they give smaller batches");
constexpr TextId kDroppedBuckets = LATHE_TEXT(
    "dataset.dropped_buckets",
    "{} of {} buckets hold fewer items than a batch of {}; bucket_remainder is drop, so their images are never "
    "trained");
constexpr TextId kRepeatedBuckets =
    LATHE_TEXT("dataset.repeated_buckets",
               "{} of {} buckets hold fewer items than a batch of {}; their batches are filled up with repeats");
constexpr TextId kRepeat = LATHE_TEXT("dataset.fix.repeat", "fill such batches up with repeats");
constexpr TextId kMerge = LATHE_TEXT("dataset.fix.merge", "put such images into the nearest larger bucket");
constexpr TextId kDrop = LATHE_TEXT("dataset.fix.drop", "leave incomplete batches out");
constexpr TextId kSmaller = LATHE_TEXT("dataset.fix.smaller", "train them in smaller batches");
constexpr TextId kBelowAccumulation = LATHE_TEXT(
    "dataset.below_accumulation",
    "{} images make {} batches, fewer than gradient_accumulation_steps ({}): each epoch is one optimizer step "
    "from an incomplete group, whose gradient is still divided by {}");
constexpr TextId kSurplus = LATHE_TEXT(
    "dataset.reg_surplus", "{} of {} regularisation images are not used: {} items match the {} trained ones");
constexpr TextId kScarce =
    LATHE_TEXT("dataset.reg_scarce", "regularisation images are repeated: {} of them stand against {} trained items");
constexpr TextId kEmptyValidation =
    LATHE_TEXT("dataset.validation_empty", "validation_split is {}, but no image is left to validate with");
constexpr TextId kSharedImages =
    LATHE_TEXT("dataset.validation_shared",
               "{} images both train and validate, because both shares are rounded up as in the reference: {}");

constexpr TextId kNotMultiple =
    LATHE_TEXT("dataset.not_multiple",
               "the bucket {}x{} has a side that is no multiple of 16, which the network needs; choose resolution and "
               "bucket_reso_steps accordingly");
constexpr TextId kTooLong = LATHE_TEXT("dataset.too_long",
                                       "the bucket {}x{} is longer than {} pixels, the most that the network can "
                                       "place; its images: {}");

constexpr int kSideStep = 16;       // 8 pixels a latent, 2 latents a patch
constexpr int kLongestSide = 4096;  // 256 patches: the network's table of positions

std::vector<std::string> names_of(const Dataset& dataset, const Bucket& bucket) {
  std::set<std::size_t> images(bucket.items.begin(), bucket.items.end());
  std::vector<std::string> names;
  for (const std::size_t image : images) names.push_back(to_utf8(dataset.images[image].path.filename()));
  return names;
}

void check_buckets(const Dataset& dataset, config::Findings& findings) {
  const auto batch = static_cast<std::size_t>(std::max<std::int64_t>(dataset.config.batch_size, 1));
  std::vector<const Bucket*> small;
  for (const Bucket& bucket : dataset.buckets) {
    if (bucket.items.size() < batch) small.push_back(&bucket);
  }
  if (small.empty()) return;
  const bool dropped = dataset.remainder == BucketRemainder::drop;
  const bool repeated = dataset.remainder == BucketRemainder::repeat;
  config::Finding summary{.severity = dropped ? config::Severity::warning : config::Severity::note,
                          .fields = {"bucket_remainder"},
                          .message = message(dropped    ? kDroppedBuckets
                                             : repeated ? kRepeatedBuckets
                                                        : kSmallBuckets,
                                             small.size(), dataset.buckets.size(), batch)};
  const std::pair<BucketRemainder, std::pair<TextId, const char*>> choices[] = {
      {BucketRemainder::smaller, {kSmaller, "smaller"}},
      {BucketRemainder::repeat, {kRepeat, "repeat"}},
      {BucketRemainder::merge, {kMerge, "merge"}},
      {BucketRemainder::drop, {kDrop, "drop"}}};
  for (const auto& [choice, fix] : choices) {
    if (choice != dataset.remainder) summary.fixes.push_back({message(fix.first), {{"bucket_remainder", fix.second}}});
  }
  const config::Severity severity = summary.severity;
  findings.add(std::move(summary));
  for (const Bucket* bucket : small) {
    findings.add({.severity = severity,
                  .fields = {"bucket_remainder"},
                  .message = message(kSmallBucket, bucket->size.width, bucket->size.height, bucket->items.size(), batch,
                                     some_names(names_of(dataset, *bucket)))});
  }
}

// The reference stops with an assertion at the first such batch.
void check_sides(const Dataset& dataset, config::Findings& findings) {
  for (const Bucket& bucket : dataset.buckets) {
    const Size size = bucket.size;
    if (size.width % kSideStep != 0 || size.height % kSideStep != 0) {
      findings.error({"resolution", "bucket_reso_steps"}, message(kNotMultiple, size.width, size.height));
    }
    if (std::max(size.width, size.height) > kLongestSide) {
      findings.error({"max_bucket_reso"},
                     message(kTooLong, size.width, size.height, kLongestSide, some_names(names_of(dataset, bucket))));
    }
  }
}

void check_regularisation(const Dataset& dataset, config::Findings& findings) {
  std::int64_t found = 0, used = 0, items = 0;
  for (std::size_t s = 0; s < dataset.subset_images.size(); ++s) {
    if (dataset.config.subsets[s].is_reg) found += dataset.subset_images[s];
  }
  for (const Image& image : dataset.images) {
    if (!image.is_reg) continue;
    ++used;
    items += image.repeats;
  }
  if (found == 0) return;
  const std::int64_t trained = dataset.training_items(false);
  if (used < found) {
    findings.note({}, message(kSurplus, found - used, found, items, trained));
  } else if (items > dataset.training_items(true)) {
    findings.note({}, message(kScarce, found, trained));
  }
}

void check_validation(const Manifest& manifest, const config::DataConfig& config, config::Findings& findings) {
  double wanted = 0.0;
  for (const config::DatasetConfig& dataset : config.datasets) wanted = std::max(wanted, dataset.validation_split);
  if (wanted <= 0.0 || wanted > 1.0) return;
  std::set<std::string> trained, shared;
  for (const Dataset& dataset : manifest.training) {
    for (const Image& image : dataset.images) trained.insert(image.key);
  }
  std::size_t images = 0;
  for (const Dataset& dataset : manifest.validation) {
    images += dataset.images.size();
    if (dataset.config.kind == config::DatasetKind::metadata) continue;  // said where it was built
    for (const Image& image : dataset.images) {
      if (trained.contains(image.key)) shared.insert(to_utf8(image.path.filename()));
    }
  }
  if (images == 0) findings.warning({"validation_split"}, message(kEmptyValidation, wanted));
  if (!shared.empty()) {
    findings.note({"validation_split"},
                  message(kSharedImages, shared.size(), some_names({shared.begin(), shared.end()})));
  }
}

}  // namespace

void check_manifest(const Manifest& manifest, const config::DataConfig& config, const config::Settings& settings,
                    config::Findings& findings) {
  if (config.datasets.empty()) {
    findings.error({"dataset_config", "train_data_dir"}, message(kNoDatasets));
    return;
  }
  if (manifest.image_count() == 0) {
    findings.error({"dataset_config", "train_data_dir"}, message(kNothing));
    return;
  }
  for (const Dataset& dataset : manifest.training) {
    check_sides(dataset, findings);
    check_buckets(dataset, findings);
    check_regularisation(dataset, findings);
  }
  const std::int64_t accumulation = settings.integer("gradient_accumulation_steps");
  const auto batches = static_cast<std::int64_t>(manifest.batch_count());
  if (batches < accumulation) {
    findings.note({"gradient_accumulation_steps"},
                  message(kBelowAccumulation, manifest.image_count() + manifest.regularisation_count(), batches,
                          accumulation, accumulation));
  }
  check_validation(manifest, config, findings);
}

}  // namespace lathe::dataset
