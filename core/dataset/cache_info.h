#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/dataset/manifest.h"

namespace lathe::dataset {

// One line of metadata_cache.json (cache_info): it replaces listing the folder, reading the caption and the header.
struct CachedInfo {
  std::string key;  // path of the image
  std::string caption;
  Size size;
};

inline constexpr const char* kCacheInfoName = "metadata_cache.json";

// The entries in the file's order; nothing where `folder` has no such file. Throws Error(format) that names the file
// and what is wrong in it.
std::optional<std::vector<CachedInfo>> read_cache_info(const std::filesystem::path& folder);

// As the reference writes it: {path: {"caption": …, "resolution": [w, h]}}, indented by 2, non-ASCII kept.
void write_cache_info(const std::filesystem::path& folder, const std::vector<CachedInfo>& entries);

}  // namespace lathe::dataset
