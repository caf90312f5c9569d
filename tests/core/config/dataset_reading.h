#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/base/format.h"
#include "core/base/paths.h"
#include "core/config/dataset_config.h"
#include "core/config/value_text.h"
#include "tests/core/config/compare.h"
#include "tests/support/temporary_folder.h"

// Reads a dataset file given as text.
namespace lathe::config::testing {

using lathe::testing::TemporaryFolder;

struct Read {
  DataConfig config;
  std::vector<Finding> findings;
  std::string file;

  // Findings as text, the file's own path as "@".
  std::vector<std::string> said(Severity severity) const {
    std::vector<std::string> texts;
    for (const Finding& finding : findings) {
      if (finding.severity != severity) continue;
      std::string text = finding.english();
      if (!file.empty() && text.starts_with(file)) text.replace(0, file.size(), "@");
      texts.push_back(text);
    }
    return texts;
  }
};

inline Read read(const Settings& settings) {
  Findings findings;
  Read made{read_data_config(settings, findings), {}, {}};
  made.findings = findings.all();
  return made;
}

inline Read read_file(const std::string& text, Settings settings = {}, const std::string& name = "d.toml") {
  const TemporaryFolder folder;
  const auto file = folder.write(name, text);
  settings.set("dataset_config", lathe::to_utf8(file), Source::command_line);
  Read made = read(settings);
  made.file = lathe::to_utf8(file);
  return made;
}

inline Settings with(const std::vector<std::pair<std::string, std::string>>& set) {
  Settings settings;
  apply(Fix{{}, set}, settings);
  return settings;
}

// All fields, to see that a key changes something.
inline std::string describe(const DatasetConfig& d) {
  std::string text = lathe::format(
      "{} {}x{} {} {} {} {} {} {} {} {} {} {}", static_cast<int>(d.kind), d.width, d.height, d.batch_size,
      d.enable_bucket, d.min_bucket_reso, d.max_bucket_reso, d.bucket_reso_steps, d.bucket_no_upscale,
      d.network_multiplier, d.validation_seed.value_or(-1), d.validation_split, d.resize_interpolation.value_or("-"));
  for (const SubsetConfig& s : d.subsets) {
    text += lathe::format("\n{} {} {} {} {} {} {} {} {} {}", s.image_dir, s.metadata_file, s.conditioning_data_dir,
                          s.num_repeats, s.shuffle_caption, s.caption_separator, s.keep_tokens, s.keep_tokens_separator,
                          s.secondary_separator.value_or("-"), s.enable_wildcard);
    text += lathe::format(" {} {} {} {} {} {} {} {} {}", s.caption_prefix.value_or("-"), s.caption_suffix.value_or("-"),
                          s.token_warmup_min, s.token_warmup_step, s.caption_dropout_rate,
                          s.caption_dropout_every_n_epochs, s.caption_tag_dropout_rate, s.color_aug, s.flip_aug);
    text += lathe::format(" {} {} {} {} {} {} {} {}", s.face_crop_aug_range ? s.face_crop_aug_range->second : -1.0,
                          s.random_crop, s.resize_interpolation.value_or("-"), s.caption_extension,
                          s.class_tokens.value_or("-"), s.cache_info, s.is_reg, s.alpha_mask);
  }
  return text;
}

}  // namespace lathe::config::testing
