#pragma once

#include <filesystem>
#include <string_view>

#include "core/base/message.h"

namespace lathe::config {

// "vae: there is no file /models/vea.safetensors; did you mean /models/vae.safetensors?": names a sibling of nearly the
// same name, or the first folder on the way that is missing.
Message missing_path(std::string_view option, const std::filesystem::path& path, bool is_folder = false);

}  // namespace lathe::config
