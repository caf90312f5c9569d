#pragma once

#include <filesystem>
#include <string>

namespace lathe::batch {

// What a file is and holds, as lines for a person: adapters, models and other safetensors files, latent and text
// caches, images, run folders. Error(format) for a file of another kind.
std::string inspect_file(const std::filesystem::path& path);

}  // namespace lathe::batch
