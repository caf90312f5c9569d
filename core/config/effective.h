#pragma once

#include <string>
#include <vector>

#include "core/config/settings.h"

// The settings of a run as others can read them again.
namespace lathe::config {

// TOML of all settings that differ from their defaults, by section, each with where it came from. read_settings_file()
// gives equal settings. Left out: config_file, output_config, and secrets, which are named without their value.
std::string effective_toml(const Settings& settings);

// The same as words of a command line, for parse_arguments().
std::vector<std::string> effective_words(const Settings& settings);

// Names of the options whose values differ.
std::vector<std::string> differing(const Settings& a, const Settings& b);

// A text as a TOML string on one line.
std::string toml_string(const std::string& text);

}  // namespace lathe::config
