#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "core/config/diagnostic.h"
#include "core/config/settings.h"

namespace lathe::config {

// Named settings to start from: files of resources/presets. They hold no paths, secrets or anything else that belongs
// to one machine.
struct Preset {
  std::string name;   // of the file, without .toml
  std::string title;  // a few words
  std::string help;   // one or two sentences
  std::vector<std::pair<std::string, Value>> values;
};

// All presets of a folder by name. A file that is not a good preset is left out, with errors in `findings`.
std::vector<Preset> read_presets(const std::filesystem::path& folder, Findings& findings);
std::vector<Preset> read_presets(Findings& findings);  // of resource_folder()

// Settings that the user gave on the command line keep their values.
void apply(const Preset& preset, Settings& settings);

}  // namespace lathe::config
