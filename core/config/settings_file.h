#pragma once

#include <filesystem>

#include "core/config/args.h"
#include "core/config/document.h"

namespace lathe::config {

// The part of read_settings_file() that begins with the file's tree.
void take_settings(const Node& root, const std::filesystem::path& file, Settings& settings, Places& places,
                   Findings& findings);

}  // namespace lathe::config
