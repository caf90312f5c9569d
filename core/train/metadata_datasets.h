#pragma once

#include <cstdint>

#include <nlohmann/json_fwd.hpp>

#include "core/config/settings.h"
#include "core/dataset/manifest.h"
#include "core/io/safetensors.h"

namespace lathe::train {

// The entries of the adapter's metadata that describe the training data. They differ by where the datasets come from:
// `from_file` (dataset_config) or the options (train_data_dir …).
void add_dataset_metadata(io::Metadata& metadata, const config::Settings& settings, const dataset::Manifest& manifest,
                          bool from_file, std::int64_t processes);

// json.dumps(value): ", " and ": " between parts, everything beyond ASCII as \uXXXX, floats as Python writes them.
std::string python_json(const nlohmann::ordered_json& value);

}  // namespace lathe::train
