#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lathe::config {

// What `--help` prints: how options are given, and the topics.
std::string help_overview();

// The text of one topic: a section of options ("compile"), an option ("learning_rate", also "--learning-rate"),
// "dataset_file" (the keys of dataset_config), or "options" (all of them). nullopt: there is no such topic.
std::optional<std::string> help_topic(std::string_view topic);

std::vector<std::string> help_topics();  // without the single options

}  // namespace lathe::config
