// What the reference asserts about a dataset once its values are known.
#include <algorithm>
#include <string>

#include "core/config/dataset_keys.h"
#include "core/config/dataset_reader.h"
#include "core/config/fixes.h"
#include "core/config/schema.h"
#include "core/config/value_check.h"

namespace lathe::config {

namespace {

constexpr std::int64_t kPatchPixels = 16;    // 8 pixels a latent, 2 latents a patch
constexpr std::int64_t kLongestSide = 4096;  // 256 patches

constexpr TextId kNoResolution = LATHE_TEXT("data.no_resolution", "resolution is missing: write, for example, 1024");
constexpr TextId kNotSixteen = LATHE_TEXT("data.not_sixteen", "{} must be a multiple of 16 for Anima, not {}");
constexpr TextId kTooLarge =
    LATHE_TEXT("data.too_large", "{} is {}; Anima has positions for at most 4096 pixels a side");
constexpr TextId kRoundedDown =
    LATHE_TEXT("data.rounded_down", "min_bucket_reso {} is no multiple of bucket_reso_steps {}; lowered to {}");
constexpr TextId kRoundedUp =
    LATHE_TEXT("data.rounded_up", "max_bucket_reso {} is no multiple of bucket_reso_steps {}; raised to {}");
constexpr TextId kBelowMin =
    LATHE_TEXT("data.below_min", "the resolution {}x{} has a side shorter than min_bucket_reso {}");
constexpr TextId kAboveMax =
    LATHE_TEXT("data.above_max", "the resolution {}x{} has a side longer than max_bucket_reso {}");
constexpr TextId kLimitsUnused = LATHE_TEXT(
    "data.limits_unused",
    "bucket_no_upscale makes buckets of the images' own sizes; min_bucket_reso and max_bucket_reso are not used");
constexpr TextId kMasksNoCrop =
    LATHE_TEXT("data.masks_no_crop", "random_crop cannot be used together with mask images");
constexpr TextId kNoMultiplier =
    LATHE_TEXT("data.no_multiplier", "network_multiplier has no effect: nothing reads it for Anima");
constexpr TextId kNoAttributes =
    LATHE_TEXT("data.no_attributes", "custom_attributes have no effect: nothing reads them for Anima");

void check_bucket_limits(DatasetConfig& dataset, const Scope& scope, Findings& findings) {
  const std::int64_t step = dataset.bucket_reso_steps;
  if (step < 1) return;  // said by the range check
  if (step % kPatchPixels != 0) {
    findings.add(scope.finding(Severity::error, "bucket_reso_steps", message(kNotSixteen, "bucket_reso_steps", step)));
    return;
  }
  const std::int64_t lowered = dataset.min_bucket_reso - dataset.min_bucket_reso % step;
  const std::int64_t raised = (dataset.max_bucket_reso + step - 1) / step * step;
  if (lowered != dataset.min_bucket_reso) {
    findings.add(scope.finding(Severity::warning, "min_bucket_reso",
                               message(kRoundedDown, dataset.min_bucket_reso, step, lowered)));
  }
  if (raised != dataset.max_bucket_reso) {
    findings.add(scope.finding(Severity::warning, "max_bucket_reso",
                               message(kRoundedUp, dataset.max_bucket_reso, step, raised)));
  }
  dataset.min_bucket_reso = lowered;
  dataset.max_bucket_reso = raised;
  const auto limit = [&](TextId text, std::string_view key, std::int64_t value, std::int64_t wanted) {
    Finding finding = scope.finding(Severity::error, key, message(text, dataset.width, dataset.height, value));
    finding.fields = {std::string(key), "resolution"};
    if (scope.member(key) == nullptr) finding.fixes.push_back(set_to(key, std::to_string(wanted)));
    findings.add(std::move(finding));
  };
  const std::int64_t shorter = std::min(dataset.width, dataset.height),
                     longer = std::max(dataset.width, dataset.height);
  if (shorter < lowered) limit(kBelowMin, "min_bucket_reso", lowered, shorter / step * step);
  if (longer > raised) limit(kAboveMax, "max_bucket_reso", raised, (longer + step - 1) / step * step);
  if (dataset.bucket_no_upscale) {
    findings.add(scope.finding(Severity::warning, "bucket_no_upscale", message(kLimitsUnused)));
  } else if (raised > kLongestSide) {
    findings.add(scope.finding(Severity::error, "max_bucket_reso", message(kTooLarge, "max_bucket_reso", raised)));
  }
}

void check_size(const DatasetConfig& dataset, const Scope& scope, Findings& findings) {
  const int longest = std::max(dataset.width, dataset.height);
  if (longest > kLongestSide) {
    findings.add(scope.finding(Severity::error, "resolution", message(kTooLarge, "resolution", longest)));
  } else if (!dataset.enable_bucket) {
    for (const int side : {dataset.width, dataset.height}) {
      if (side % kPatchPixels == 0) continue;
      findings.add(scope.finding(Severity::error, "resolution", message(kNotSixteen, "resolution", side)));
      break;
    }
  }
}

}  // namespace

void check_dataset(DatasetConfig& dataset, const Scope& scope, Findings& findings) {
  if (dataset.width <= 0 || dataset.height <= 0) {
    if (scope.member("resolution") == nullptr && !scope.is_set("resolution")) {
      findings.add(scope.finding(Severity::error, "resolution", message(kNoResolution)));
    }
  } else {
    check_size(dataset, scope, findings);
    if (dataset.enable_bucket) check_bucket_limits(dataset, scope, findings);
  }
  if (const Member* multiplier = scope.member("network_multiplier");
      multiplier != nullptr && multiplier->value.real != 1.0) {
    findings.add(scope.finding(Severity::note, "network_multiplier", message(kNoMultiplier)));
  }
  const bool crops = std::ranges::any_of(dataset.subsets, &SubsetConfig::random_crop);
  if (dataset.kind == DatasetKind::masked && crops) {
    findings.add(scope.finding(Severity::error, "random_crop", message(kMasksNoCrop)));
  }
}

void check_values(const Node& table, const std::filesystem::path& file, Findings& findings) {
  for (const Member& member : table.members) {
    const DatasetKey* key = find_dataset_key(member.key);
    if (key == nullptr) continue;
    Finding finding{.fields = {member.key}, .file = file, .line = member.line, .column = member.column};
    if (key->type == KeyType::table) {
      finding.severity = Severity::note;
      finding.message = message(kNoAttributes);
      findings.add(std::move(finding));
      continue;
    }
    if (key->option.empty() || key->type == KeyType::size || key->type == KeyType::range) continue;
    if (auto problem = value_problem(option(key->option), member.key, value_of(member.value, key->type))) {
      finding.message = std::move(*problem);
      findings.add(std::move(finding));
    }
  }
}

}  // namespace lathe::config
