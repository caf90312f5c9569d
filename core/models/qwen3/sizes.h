#pragma once

#include <filesystem>

#include "core/models/common/state_dict.h"
#include "core/models/qwen3/qwen3.h"

namespace lathe::models::qwen3 {

// Sizes by the shapes of the weights (keys without "model."). Throws Error(checkpoint) where they are not those of a
// Qwen3 body.
Qwen3Sizes sizes_of(const StateDict& weights);

// Key (without "model.") and shape of one weight.
using KeyShape = std::pair<std::string, std::vector<std::int64_t>>;
// Every weight of the body (no lm_head), in state-dict order (spec data 7.2).
std::vector<KeyShape> layout(const Qwen3Sizes& sizes);

// rope_theta and rms_norm_eps of a config.json; what it lacks keeps its value. Throws Error(format) on bad JSON.
void read_config(const std::filesystem::path& config_json, Qwen3Sizes& sizes);

// The file to open for a path given by the user: the path itself, or the (first) weight file of a Hugging Face folder.
std::filesystem::path weight_file(const std::filesystem::path& path);

}  // namespace lathe::models::qwen3
