#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/io/safetensors.h"

namespace lathe::io {

inline constexpr std::uint64_t kLargestHeader = 100'000'000;  // bytes; the library's own limit

struct SafetensorsHeader {
  std::vector<TensorInfo> tensors;  // in the order of their bytes
  Metadata metadata;
};

// Reads the JSON text and checks everything that needs no knowledge of the file's size: each tensor's size against its
// shape, that none is there twice, that their bytes follow each other from 0 without gap or overlap.
// Error(format) with the bare reason.
SafetensorsHeader parse_safetensors_header(std::string_view json);

// For messages: a name from a file, without control characters and not longer than a line can bear.
std::string printable(std::string_view name);

}  // namespace lathe::io
