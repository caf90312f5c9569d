#include "core/dataset/manifest.h"

#include <algorithm>
#include <set>

#include "core/base/error.h"
#include "core/base/paths.h"
#include "core/dataset/assemble.h"
#include "core/dataset/checks.h"
#include "core/dataset/image_finder.h"
#include "core/dataset/validation_split.h"

namespace lathe::dataset {

namespace {

constexpr TextId kDoesNotFit = LATHE_TEXT("dataset.does_not_fit", "{}");
constexpr TextId kNoRepeats =
    LATHE_TEXT("dataset.no_repeats", "num_repeats of {} is {}; the subset is skipped, it must be at least 1");
constexpr TextId kTwice = LATHE_TEXT("dataset.twice", "{} is named twice in one dataset; the later subset is skipped");
constexpr TextId kMasked = LATHE_TEXT(
    "dataset.masked", "datasets with conditioning_data_dir cannot be used in this version; use alpha_mask instead");
constexpr TextId kNoBucket = LATHE_TEXT("dataset.no_bucket", "{} images fit no bucket and are skipped: {}");
constexpr TextId kBadSplit =
    LATHE_TEXT("dataset.bad_split", "validation_split is {}; it must lie between 0 and 1, and is ignored");
constexpr TextId kNothingToSplit = LATHE_TEXT("dataset.metadata_split",
                                              "validation_split does not divide metadata datasets: all their images "
                                              "both train and validate, as in the reference");

using Found = std::vector<std::vector<FoundImage>>;  // by subset

BucketRemainder remainder_of(const config::Settings& settings) {
  const std::string name = settings.text("bucket_remainder");
  if (name == "repeat") return BucketRemainder::repeat;
  if (name == "merge") return BucketRemainder::merge;
  if (name == "drop") return BucketRemainder::drop;
  return BucketRemainder::smaller;
}

std::string place_of(const config::DatasetConfig& dataset, const config::SubsetConfig& subset) {
  return dataset.kind == config::DatasetKind::metadata ? subset.metadata_file : subset.image_dir;
}

// The candidates of every subset; subsets that the reference would skip are empty.
std::vector<std::vector<Candidate>> list_all(const config::DatasetConfig& dataset, ImageFinder& finder,
                                             config::Findings& findings) {
  std::vector<std::vector<Candidate>> all;
  std::set<std::string> seen;
  for (const config::SubsetConfig& subset : dataset.subsets) {
    std::vector<Candidate>& candidates = all.emplace_back();
    const std::string place = place_of(dataset, subset);
    if (subset.num_repeats < 1) {
      findings.warning({"num_repeats"}, message(kNoRepeats, place, subset.num_repeats));
    } else if (!seen.insert(place).second) {
      findings.warning({}, message(kTwice, place));
    } else {
      candidates = finder.list(dataset.kind, subset);
    }
  }
  return all;
}

bool has_split(const config::DatasetConfig& dataset) {
  return dataset.validation_split > 0.0 && dataset.validation_split <= 1.0;
}

// Divides what was found; regularisation images all train, and metadata datasets are not divided.
void split(const config::DatasetConfig& dataset, const Found& found, const config::Settings& settings,
           PythonRandom& random, Found& training, Found& validation) {
  std::optional<std::int64_t> seed = dataset.validation_seed;
  if (!seed) seed = settings.maybe_integer("validation_seed");
  if (!seed) seed = settings.maybe_integer("seed");
  for (std::size_t s = 0; s < found.size(); ++s) {
    std::vector<FoundImage>&mine = training.emplace_back(), &held_back = validation.emplace_back();
    if (dataset.subsets[s].is_reg) {
      mine = found[s];
    } else if (dataset.kind == config::DatasetKind::metadata) {
      mine = held_back = found[s];
    } else {
      const Split parts = validation_split(found[s].size(), dataset.validation_split, seed, random);
      for (const std::size_t i : parts.training) mine.push_back(found[s][i]);
      for (const std::size_t i : parts.validation) held_back.push_back(found[s][i]);
    }
  }
}

// As the reference builds it: every image once.
config::DatasetConfig for_validation(config::DatasetConfig dataset) {
  for (config::SubsetConfig& subset : dataset.subsets) subset.num_repeats = 1;
  return dataset;
}

class Builder {
 public:
  Builder(const config::DataConfig& config, const config::Settings& settings, PythonRandom& random,
          config::Findings& findings)
      : config_(config), settings_(settings), random_(random), findings_(findings) {}

  Manifest build(const std::function<void(std::size_t, std::size_t)>& progress) {
    std::vector<std::vector<std::vector<Candidate>>> candidates;
    std::size_t total = 0, done = 0;
    for (const config::DatasetConfig& dataset : config_.datasets) {
      if (dataset.kind == config::DatasetKind::masked) findings_.error({"masked_loss"}, message(kMasked));
      for (const auto& of_subset : candidates.emplace_back(list_all(dataset, finder_, findings_))) {
        total += of_subset.size();
      }
    }
    const auto tick = [&] {
      if (progress) progress(++done, total);
    };
    for (std::size_t d = 0; d < config_.datasets.size(); ++d) {
      const config::DatasetConfig& dataset = config_.datasets[d];
      Found found;
      for (std::size_t s = 0; s < dataset.subsets.size(); ++s) {
        found.push_back(finder_.read(dataset.kind, dataset.subsets[s], candidates[d][s], tick));
      }
      add(dataset, std::move(found));
    }
    finish();
    return std::move(manifest_);
  }

 private:
  void add(const config::DatasetConfig& dataset, Found found) {
    const std::size_t skipped_before = manifest_.skipped.size();
    try {
      const BucketRemainder remainder = remainder_of(settings_);
      if (dataset.validation_split != 0.0 && !has_split(dataset)) {
        findings_.warning({"validation_split"}, message(kBadSplit, dataset.validation_split));
      }
      if (has_split(dataset)) {
        if (dataset.kind == config::DatasetKind::metadata) {
          findings_.warning({"validation_split"}, message(kNothingToSplit));
        }
        Found training, validation;
        split(dataset, found, settings_, random_, training, validation);
        manifest_.validation.push_back(assemble(for_validation(dataset), validation, remainder, manifest_.skipped));
        found = std::move(training);
      }
      manifest_.training.push_back(assemble(dataset, found, remainder, manifest_.skipped));
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::settings) throw;
      findings_.error({"resolution", "resize_interpolation"}, message(kDoesNotFit, error.message()));
    }
    std::vector<std::string> names;
    for (std::size_t i = skipped_before; i < manifest_.skipped.size(); ++i) {
      names.push_back(to_utf8(manifest_.skipped[i].path.filename()));
    }
    if (!names.empty()) {
      findings_.warning({"bucket_no_upscale", "bucket_reso_steps"},
                        message(kNoBucket, names.size(), some_names(names)));
    }
  }

  void finish() {
    std::vector<Dataset*> all;
    for (Dataset& dataset : manifest_.training) all.push_back(&dataset);
    for (Dataset& dataset : manifest_.validation) all.push_back(&dataset);
    assign_cache_files(all);

    std::set<std::string> counted;
    for (const Dataset& dataset : manifest_.training) {
      for (const FolderTags& folder : dataset.tag_frequency) {
        if (counted.insert(folder.folder).second) manifest_.tag_frequency.push_back(folder);
      }
    }
    check_manifest(manifest_, config_, settings_, findings_);
  }

  const config::DataConfig& config_;
  const config::Settings& settings_;
  PythonRandom& random_;
  config::Findings& findings_;
  Manifest manifest_;
  ImageFinder finder_{config_, findings_, manifest_.skipped};
};

}  // namespace

std::size_t Dataset::batch_count() const {
  std::size_t count = 0;
  for (const Bucket& bucket : buckets) count += batches_of(bucket.items.size(), config.batch_size, remainder);
  return count;
}

std::int64_t Dataset::training_items(bool regularisation) const {
  std::int64_t items = 0;
  for (std::size_t s = 0; s < subset_images.size(); ++s) {
    if (config.subsets[s].is_reg == regularisation) items += subset_images[s] * config.subsets[s].num_repeats;
  }
  return items;
}

std::int64_t Manifest::image_count() const {
  std::int64_t count = 0;
  for (const Dataset& dataset : training) count += dataset.training_items(false);
  return count;
}

std::int64_t Manifest::regularisation_count() const {
  std::int64_t count = 0;
  for (const Dataset& dataset : training) count += dataset.training_items(true);
  return count;
}

std::size_t Manifest::batch_count() const {
  std::size_t count = 0;
  for (const Dataset& dataset : training) count += dataset.batch_count();
  return count;
}

Manifest build_manifest(const config::DataConfig& config, const config::Settings& settings, PythonRandom& random,
                        config::Findings& findings, const std::function<void(std::size_t, std::size_t)>& progress) {
  return Builder(config, settings, random, findings).build(progress);
}

}  // namespace lathe::dataset
