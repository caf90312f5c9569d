// Options against what the datasets ask for.
#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "core/config/fixes.h"
#include "core/config/validate_steps.h"

namespace lathe::config {

namespace {

constexpr TextId kNotCached =
    LATHE_TEXT("data_clash.latents", "cached latents cannot be changed while training: {} needs cache_latents off{}");
constexpr TextId kTextFixed =
    LATHE_TEXT("data_clash.text",
               "cached text cannot be changed while training: {} needs cache_text_encoder_outputs "
               "off{}");
constexpr TextId kMasked = LATHE_TEXT(
    "data_clash.masked", "mask images (conditioning_data_dir) are not in this version yet; alpha_mask works");
constexpr TextId kNoMasks =
    LATHE_TEXT("data_clash.no_masks", "masked_loss changes nothing: no subset has mask images or alpha_mask");
constexpr TextId kSplit = LATHE_TEXT("data_clash.split",
                                     "validation_split in the dataset file is not in this version "
                                     "yet");
constexpr TextId kUselessSplit = LATHE_TEXT("data_clash.bad_split",
                                            "validation_split {} in the dataset file is outside "
                                            "0 to 1: nothing is held back");

constexpr TextId kAugmentation =
    LATHE_TEXT("data_clash.augmentation", "{} in the dataset file is not in this version yet; leave it out");

// Where a subset asks for something that caching forbids.
struct Forbidden {
  std::string key;
  bool (*asked)(const SubsetConfig&);
  bool is_flag;
};

const std::vector<Forbidden>& forbidden_with_latents() {
  static const std::vector<Forbidden> all = {
      {"color_aug", [](const SubsetConfig& s) { return s.color_aug; }, true},
      {"random_crop", [](const SubsetConfig& s) { return s.random_crop; }, true},
  };
  return all;
}

const std::vector<Forbidden>& forbidden_with_text() {
  static const std::vector<Forbidden> all = {
      {"shuffle_caption", [](const SubsetConfig& s) { return s.shuffle_caption; }, true},
      {"token_warmup_step", [](const SubsetConfig& s) { return s.token_warmup_step > 0.0; }, false},
      {"caption_tag_dropout_rate", [](const SubsetConfig& s) { return s.caption_tag_dropout_rate > 0.0; }, false},
  };
  return all;
}

// " (subsets a, b)" where only some ask for it.
std::string some_subsets(const DataConfig& data, const Forbidden& forbidden, bool& any) {
  std::set<std::string> asking;
  std::size_t count = 0, all = 0;
  for (const DatasetConfig& dataset : data.datasets) {
    for (const SubsetConfig& subset : dataset.subsets) {
      ++all;
      if (!forbidden.asked(subset)) continue;
      ++count;
      asking.insert(dataset.kind == DatasetKind::metadata ? subset.metadata_file : subset.image_dir);
    }
  }
  any = count > 0;
  if (count == 0 || count == all) return {};
  return " (" + join({asking.begin(), asking.end()}, ", ") + ")";
}

void check_cached(const Settings& settings, const DataConfig& data, const std::string& cache,
                  const std::vector<Forbidden>& forbidden, TextId text, Findings& findings) {
  if (!settings.flag(cache)) return;
  for (const Forbidden& one : forbidden) {
    bool any = false;
    const std::string where = some_subsets(data, one, any);
    if (!any) continue;
    Finding& finding = findings.error({cache, one.key}, message(text, one.key, where));
    if (!settings.is_default(one.key)) finding.fixes.push_back(one.is_flag ? turn_off(one.key) : leave_out(one.key));
    Fix off = turn_off(cache);
    off.set.emplace_back(cache + "_to_disk", "false");  // it would turn the cache on again
    finding.fixes.push_back(std::move(off));
  }
}

void check_splits(const Settings& settings, const DataConfig& data, Findings& findings) {
  for (const DatasetConfig& dataset : data.datasets) {
    const double split = dataset.validation_split;
    if (split == 0.0 || split == settings.real("validation_split")) continue;  // the option's own was seen
    if (split < 0.0 || split > 1.0) {
      findings.warning({"validation_split"}, message(kUselessSplit, split));
    } else {
      findings.error({"validation_split"}, message(kSplit));
      return;
    }
  }
}

void check_augmentations(const Settings& settings, const DataConfig& data, Findings& findings) {
  bool colour = false, face = false;
  for (const DatasetConfig& dataset : data.datasets) {
    for (const SubsetConfig& subset : dataset.subsets) {
      colour = colour || subset.color_aug;
      face = face || subset.face_crop_aug_range.has_value();
    }
  }
  // An option that asks for it was seen already.
  if (colour && !settings.flag("color_aug")) findings.error({"color_aug"}, message(kAugmentation, "color_aug"));
  if (face && !settings.is_set("face_crop_aug_range")) {
    findings.error({"face_crop_aug_range"}, message(kAugmentation, "face_crop_aug_range"));
  }
}

void check_masks(const Settings& settings, const DataConfig& data, Findings& findings) {
  const auto has_alpha = [](const DatasetConfig& dataset) {
    return std::ranges::any_of(dataset.subsets, &SubsetConfig::alpha_mask);
  };
  const auto is_masked = [](const DatasetConfig& dataset) { return dataset.kind == DatasetKind::masked; };
  if (std::ranges::any_of(data.datasets, is_masked)) {
    findings.error({"masked_loss"}, message(kMasked)).fixes.push_back(turn_off("masked_loss"));
  } else if (settings.flag("masked_loss") && std::ranges::none_of(data.datasets, has_alpha)) {
    findings.warning({"masked_loss"}, message(kNoMasks)).fixes.push_back(turn_on("alpha_mask"));
  }
}

}  // namespace

void check_data_clashes(const Settings& settings, const DataConfig& data, Findings& findings) {
  check_cached(settings, data, "cache_latents", forbidden_with_latents(), kNotCached, findings);
  check_cached(settings, data, "cache_text_encoder_outputs", forbidden_with_text(), kTextFixed, findings);
  check_masks(settings, data, findings);
  check_splits(settings, data, findings);
  check_augmentations(settings, data, findings);
}

}  // namespace lathe::config
