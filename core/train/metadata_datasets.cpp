#include "core/train/metadata_datasets.h"

#include <nlohmann/json.hpp>

#include "core/base/format.h"
#include "core/base/paths.h"
#include "core/config/python_literal.h"

namespace lathe::train {

namespace {

using Json = nlohmann::ordered_json;

// os.path.basename: what stands right of the last slash, "" for "a/".
std::string base_name(const std::string& path) {
  std::size_t slash = path.find_last_of('/');
#ifdef _WIN32
  slash = path.find_last_of("/\\");
#endif
  return slash == std::string::npos ? path : path.substr(slash + 1);
}

template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json tags_json(const std::vector<dataset::FolderTags>& folders) {
  Json result = Json::object();
  for (const dataset::FolderTags& folder : folders) {
    Json& counts = result[folder.folder] = Json::object();
    for (const auto& [tag, count] : folder.tags) counts[tag] = count;
  }
  return result;
}

Json buckets_json(const dataset::Dataset& data) {
  if (!data.config.enable_bucket) return nullptr;
  Json buckets = Json::object();
  for (const dataset::Bucket& bucket : data.buckets) {
    buckets[std::to_string(buckets.size())] = {{"resolution", {bucket.size.width, bucket.size.height}},
                                               {"count", bucket.items.size()}};
  }
  return {{"buckets", std::move(buckets)}, {"mean_img_ar_error", data.mean_aspect_error}};
}

bool is_folder_kind(const dataset::Dataset& data) {
  return data.config.kind == config::DatasetKind::folder;
}

// Name under which a subset's folder is listed.
std::string folder_name(const dataset::Dataset& data, const config::SubsetConfig& subset) {
  return base_name(is_folder_kind(data) ? subset.image_dir : subset.metadata_file);
}

Json subset_json(const dataset::Dataset& data, std::size_t index) {
  const config::SubsetConfig& subset = data.config.subsets[index];
  Json result = {{"img_count", data.subset_images[index]},
                 {"num_repeats", subset.num_repeats},
                 {"color_aug", subset.color_aug},
                 {"flip_aug", subset.flip_aug},
                 {"random_crop", subset.random_crop},
                 {"shuffle_caption", subset.shuffle_caption},
                 {"keep_tokens", subset.keep_tokens},
                 {"keep_tokens_separator", subset.keep_tokens_separator},
                 {"secondary_separator", or_null(subset.secondary_separator)},
                 {"enable_wildcard", subset.enable_wildcard},
                 {"caption_prefix", or_null(subset.caption_prefix)},
                 {"caption_suffix", or_null(subset.caption_suffix)},
                 {"resize_interpolation", or_null(subset.resize_interpolation)}};
  if (!subset.image_dir.empty()) result["image_dir"] = base_name(subset.image_dir);
  if (is_folder_kind(data)) {
    result["class_tokens"] = or_null(subset.class_tokens);
    result["is_reg"] = subset.is_reg;
  } else {
    result["metadata_file"] = base_name(subset.metadata_file);
  }
  return result;
}

Json dataset_json(const dataset::Dataset& data) {
  Json subsets = Json::array();
  for (std::size_t i = 0; i < data.config.subsets.size(); ++i) subsets.push_back(subset_json(data, i));
  return {{"is_dreambooth", is_folder_kind(data)},
          {"batch_size_per_device", data.config.batch_size},
          {"num_train_images", data.training_items(false)},
          {"num_reg_images", data.training_items(true)},
          {"resolution", {data.config.width, data.config.height}},
          {"enable_bucket", data.config.enable_bucket},
          {"min_bucket_reso", data.config.min_bucket_reso},
          {"max_bucket_reso", data.config.max_bucket_reso},
          {"tag_frequency", tags_json(data.tag_frequency)},
          {"bucket_info", buckets_json(data)},
          {"resize_interpolation", or_null(data.config.resize_interpolation)},
          {"subsets", std::move(subsets)}};
}

Json folder_json(const dataset::Dataset& data, std::size_t index) {
  return {{"n_repeats", data.config.subsets[index].num_repeats}, {"img_count", data.subset_images[index]}};
}

void add_configured(io::Metadata& metadata, const dataset::Manifest& manifest) {
  Json datasets = Json::array();
  Json folders = Json::object();
  for (const dataset::Dataset& data : manifest.training) {
    datasets.push_back(dataset_json(data));
    for (std::size_t i = 0; i < data.config.subsets.size(); ++i) {
      if (data.config.subsets[i].is_reg) continue;
      const std::string name = folder_name(data, data.config.subsets[i]);
      std::string free = name;
      for (int next = 2; folders.contains(free); ++next) free = format("{} ({})", name, next);
      folders[free] = folder_json(data, i);
    }
  }
  metadata["ss_datasets"] = python_json(datasets);
  metadata["ss_tag_frequency"] = python_json(tags_json(manifest.tag_frequency));
  metadata["ss_dataset_dirs"] = python_json(folders);
}

void add_from_options(io::Metadata& metadata, const config::Settings& settings, const dataset::Manifest& manifest,
                      std::int64_t processes) {
  const dataset::Dataset& data = manifest.training.front();
  Json folders = Json::object();
  Json reg_folders = Json::object();
  for (std::size_t i = 0; i < data.config.subsets.size(); ++i) {
    const config::SubsetConfig& subset = data.config.subsets[i];
    (subset.is_reg ? reg_folders : folders)[folder_name(data, subset)] = folder_json(data, i);
  }
  const std::int64_t batch = settings.integer("train_batch_size");
  metadata["ss_batch_size_per_device"] = std::to_string(batch);
  metadata["ss_total_batch_size"] = std::to_string(batch * processes * settings.integer("gradient_accumulation_steps"));
  metadata["ss_resolution"] = format("({}, {})", data.config.width, data.config.height);
  for (const char* option : {"color_aug", "flip_aug", "random_crop", "shuffle_caption"}) {
    metadata[format("ss_{}", option)] = config::python_str(config::Value(settings.flag(option)));
  }
  metadata["ss_enable_bucket"] = config::python_str(config::Value(data.config.enable_bucket));
  metadata["ss_bucket_no_upscale"] = config::python_str(config::Value(data.config.bucket_no_upscale));
  metadata["ss_min_bucket_reso"] = std::to_string(data.config.min_bucket_reso);
  metadata["ss_max_bucket_reso"] = std::to_string(data.config.max_bucket_reso);
  metadata["ss_keep_tokens"] = config::python_str(settings.value("keep_tokens"));
  metadata["ss_dataset_dirs"] = python_json(folders);
  metadata["ss_reg_dataset_dirs"] = python_json(reg_folders);
  metadata["ss_tag_frequency"] = python_json(tags_json(data.tag_frequency));
  metadata["ss_bucket_info"] = python_json(buckets_json(data));
}

}  // namespace

std::string python_json(const nlohmann::ordered_json& value) {
  std::vector<std::string> parts;
  switch (value.type()) {
    case Json::value_t::object:
      for (const auto& [key, item] : value.items()) parts.push_back(python_json(key) + ": " + python_json(item));
      return "{" + join(parts, ", ") + "}";
    case Json::value_t::array:
      for (const Json& item : value) parts.push_back(python_json(item));
      return "[" + join(parts, ", ") + "]";
    case Json::value_t::number_float:
      return config::python_repr(value.get<double>());
    default:
      return value.dump(-1, ' ', /*ensure_ascii=*/true);
  }
}

void add_dataset_metadata(io::Metadata& metadata, const config::Settings& settings, const dataset::Manifest& manifest,
                          bool from_file, std::int64_t processes) {
  if (from_file) return add_configured(metadata, manifest);
  if (!manifest.training.empty()) add_from_options(metadata, settings, manifest, processes);
}

}  // namespace lathe::train
