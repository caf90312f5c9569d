#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/config/diagnostic.h"
#include "core/config/settings.h"

namespace lathe::config {

enum class DatasetKind { folder, metadata, masked };  // the reference's DreamBooth, fine-tuning, ControlNet/mask kinds

// One subset with every value resolved: subset, else dataset, else general, else command line, else default.
struct SubsetConfig {
  std::string image_dir;  // as written; it prefixes every image key
  std::string metadata_file;
  std::string conditioning_data_dir;
  std::int64_t num_repeats = 1;
  bool shuffle_caption = false;
  std::string caption_separator = ",";
  std::int64_t keep_tokens = 0;
  std::string keep_tokens_separator;
  std::optional<std::string> secondary_separator;
  bool enable_wildcard = false;
  std::optional<std::string> caption_prefix;
  std::optional<std::string> caption_suffix;
  std::int64_t token_warmup_min = 1;
  double token_warmup_step = 0.0;
  double caption_dropout_rate = 0.0;
  std::int64_t caption_dropout_every_n_epochs = 0;
  double caption_tag_dropout_rate = 0.0;
  bool color_aug = false;
  bool flip_aug = false;
  std::optional<std::pair<double, double>> face_crop_aug_range;
  bool random_crop = false;
  std::optional<std::string> resize_interpolation;
  std::string caption_extension = ".caption";
  std::optional<std::string> class_tokens;
  bool cache_info = false;
  bool is_reg = false;
  bool alpha_mask = false;
};

struct DatasetConfig {
  DatasetKind kind = DatasetKind::folder;
  int width = 0, height = 0;  // pixels
  std::int64_t batch_size = 1;
  bool enable_bucket = false;
  std::int64_t min_bucket_reso = 256;
  std::int64_t max_bucket_reso = 1024;
  std::int64_t bucket_reso_steps = 64;
  bool bucket_no_upscale = false;
  double network_multiplier = 1.0;
  std::optional<std::int64_t> validation_seed;
  double validation_split = 0.0;
  std::optional<std::string> resize_interpolation;
  std::vector<SubsetConfig> subsets;
};

struct DataConfig {
  std::vector<DatasetConfig> datasets;
  bool from_file = false;  // dataset_config was given (the adapter's metadata differs)
};

// The datasets that `settings` name: dataset_config (TOML or JSON) or train_data_dir / reg_data_dir / in_json. Every
// problem goes into `findings`, with file and line; what could be read is returned all the same. Looks at folder names
// (N_name) but opens no image.
DataConfig read_data_config(const Settings& settings, Findings& findings);

}  // namespace lathe::config
