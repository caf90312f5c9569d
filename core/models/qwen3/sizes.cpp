#include "core/models/qwen3/sizes.h"

#include <algorithm>
#include <charconv>
#include <string_view>

#include <nlohmann/json.hpp>

#include "core/base/error.h"
#include "core/base/files.h"
#include "core/base/format.h"
#include "core/base/paths.h"

namespace lathe::models::qwen3 {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kLayers = "layers.";

// One more than the highest layer that any key names, so that a gap shows up as missing keys.
std::int64_t layer_count(const StateDict& weights) {
  std::int64_t count = 0;
  for (const std::string& key : weights.keys()) {
    if (!key.starts_with(kLayers)) continue;
    std::int64_t index = -1;
    std::from_chars(key.data() + kLayers.size(), key.data() + key.size(), index);
    count = std::max(count, index + 1);
  }
  return count;
}

// Rows of a matrix, or length of a vector.
std::int64_t rows(const StateDict& weights, const std::string& key, std::size_t dims) {
  const auto shape = weights.shape(key);
  if (shape.size() != dims) {
    throw Error(ErrorKind::checkpoint,
                format("no Qwen3 text encoder: {} {}", key, shape.empty() ? "is missing" : "has an unexpected shape"));
  }
  return shape[0];
}

}  // namespace

Qwen3Sizes sizes_of(const StateDict& weights) {
  Qwen3Sizes sizes;
  sizes.vocabulary = rows(weights, "embed_tokens.weight", 2);
  sizes.hidden = weights.shape("embed_tokens.weight")[1];
  sizes.layers = layer_count(weights);
  sizes.head_size = rows(weights, "layers.0.self_attn.q_norm.weight", 1);
  sizes.mlp = rows(weights, "layers.0.mlp.gate_proj.weight", 2);
  const std::int64_t query = rows(weights, "layers.0.self_attn.q_proj.weight", 2);
  const std::int64_t key_value = rows(weights, "layers.0.self_attn.k_proj.weight", 2);
  if (sizes.head_size <= 0 || sizes.head_size % 2 || query % sizes.head_size || key_value % sizes.head_size ||
      key_value == 0 || query % key_value) {
    throw Error(ErrorKind::checkpoint, format("no Qwen3 text encoder: {} query and {} key columns in heads of {}",
                                              query, key_value, sizes.head_size));
  }
  sizes.heads = query / sizes.head_size;
  sizes.kv_heads = key_value / sizes.head_size;
  return sizes;
}

void read_config(const fs::path& config_json, Qwen3Sizes& sizes) {
  try {
    const auto config = nlohmann::json::parse(read_text(config_json));
    sizes.rope_theta = config.value("rope_theta", sizes.rope_theta);
    sizes.rms_eps = config.value("rms_norm_eps", sizes.rms_eps);
  } catch (const nlohmann::json::exception& error) {
    throw Error(ErrorKind::format, format("{}: {}", config_json, error.what()));
  }
}

fs::path weight_file(const fs::path& path) {
  if (!fs::is_directory(path)) return path;
  if (fs::exists(path / "model.safetensors")) return path / "model.safetensors";
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(path)) {
    if (entry.path().extension() == ".safetensors") files.push_back(entry.path());
  }
  if (files.empty()) {
    throw Error(ErrorKind::checkpoint, format("the folder {} holds no .safetensors file", path));
  }
  // Shards are named …-00001-of-0000N: the first leads to the others.
  return *std::ranges::min_element(files);
}

}  // namespace lathe::models::qwen3
