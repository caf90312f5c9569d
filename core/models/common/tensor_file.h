#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

#include "core/io/safetensors.h"

namespace lathe::models {

using NamedTensors = std::vector<std::pair<std::string, at::Tensor>>;

// Writes tensors of any device and layout as a safetensors file; see io::write_safetensors for order and errors.
void write_tensors(const std::filesystem::path& path, const NamedTensors& tensors, const io::Metadata& metadata);

}  // namespace lathe::models
