#pragma once

#include <filesystem>

#include "core/models/qwen3/qwen3.h"

namespace lathe::models::qwen3 {

// A text encoder for demonstrations and tests: the vocabulary of the real one, `hidden` wide, two layers.
Qwen3Sizes tiny_sizes(std::int64_t hidden);

// Writes random weights (the same every time) of these sizes as a bf16 safetensors file with the key names of the
// published checkpoint.
void write_tiny(const std::filesystem::path& path, const Qwen3Sizes& sizes);

}  // namespace lathe::models::qwen3
