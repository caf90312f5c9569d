#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/dataset/manifest.h"

namespace lathe::dataset {

// The reference's names of cache files: the image's path without its last extension, then
// "_{width:04}x{height:04}_anima.npz" (size of the file, not of the bucket) and "_anima_te.npz".
std::string latent_cache_name(std::string_view image_path, Size size);
std::string text_cache_name(std::string_view image_path);

// A latent cache's name taken apart: "foo_1920x1080_anima.npz" → {"foo", 1920x1080}. Nothing: no such name.
struct LatentCacheName {
  std::string stem;
  Size size;
};
std::optional<LatentCacheName> parse_latent_cache_name(std::string_view name);

}  // namespace lathe::dataset
