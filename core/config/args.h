#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "core/config/diagnostic.h"
#include "core/config/settings.h"

namespace lathe::config {

struct Place {
  std::filesystem::path file;
  int line = 0, column = 0;
};
using Places = std::map<std::string, Place, std::less<>>;  // by option name

struct Arguments {
  Settings settings;
  Places places;           // where the options of the settings file stand
  bool help = false;       // -h or --help
  std::string help_topic;  // the word after --help, if any
};

// Reads the reference's command line by the rules of its parser: --name value, --name=value, lists of values, flags,
// unambiguous beginnings of names, negative numbers as values, the last of equal options. Beyond it: '-' for '_' in
// names, --flag=false, and a settings file as a word of its own ("job.toml") in the place of --config_file.
//
// A leading `accelerate launch … anima_train_network.py` (or `python anima_train_network.py`) is accepted; each option
// of the launcher is answered with a finding. The settings file (config_file) is read first, the command line wins.
//
// `words` come without the program's own name and command. All problems go into `findings`; settings that could be
// read are returned all the same. Choices and ranges are for validate().
Arguments parse_arguments(const std::vector<std::string>& words, Findings& findings);

// A TOML file of options: tables are flattened one level, whatever they are called. Sets with Source::file; unknown
// names and wrong types are errors with their line.
void read_settings_file(const std::filesystem::path& file, Settings& settings, Places& places, Findings& findings);

}  // namespace lathe::config
