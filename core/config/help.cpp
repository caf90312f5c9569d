#include "core/config/help.h"

#include <utility>

#include "core/base/format.h"
#include "core/config/dataset_keys.h"
#include "core/config/option_names.h"
#include "core/config/schema.h"
#include "core/config/value_text.h"

namespace lathe::config {

namespace {

constexpr TextId kUsage = LATHE_TEXT(
    "help.usage",
    "Options are given as --name value or --name=value, or in a TOML file (--config_file job.toml, or job.toml alone). "
    "Names and meanings are those of the reference's anima_train_network.py; the beginning of a name is enough where "
    "it "
    "fits one option only, and - may stand for _.");
constexpr TextId kTopics = LATHE_TEXT("help.topics", "Topics:");
constexpr TextId kDatasetFile = LATHE_TEXT("help.dataset_file", "Dataset file (dataset_config)");
constexpr TextId kAllOptions = LATHE_TEXT("help.options", "All options");
constexpr TextId kDatasetUsage =
    LATHE_TEXT("help.dataset_usage",
               "A TOML or JSON file: [general] for all datasets, [[datasets]] for each dataset, [[datasets.subsets]] "
               "for each folder "
               "of it. The innermost value counts; what the file leaves out comes from the options.");
constexpr TextId kDefault = LATHE_TEXT("help.default", "default {}");
constexpr TextId kChoices = LATHE_TEXT("help.choices", "one of {}");
constexpr TextId kNames = LATHE_TEXT("help.names", "usually {}");
constexpr TextId kOurs = LATHE_TEXT("help.ours", "not in the reference");
constexpr TextId kNoEffect = LATHE_TEXT("help.no_effect", "No effect. {}");
constexpr TextId kUnavailable = LATHE_TEXT("help.unavailable", "Not available. {}");
constexpr TextId kWhere = LATHE_TEXT("help.where", "in {}");

constexpr std::size_t kColumns = 100;

std::string english(TextId text) {
  return message(text).english();
}

std::string join_views(const std::vector<std::string_view>& names) {
  return join({names.begin(), names.end()}, ", ");
}

std::vector<std::string> split_at_spaces(const std::string& text) {
  std::vector<std::string> words;
  std::string word;
  for (const char c : text + " ") {
    if (c != ' ') {
      word += c;
    } else if (!word.empty()) {
      words.push_back(std::exchange(word, {}));
    }
  }
  return words;
}

// Words in lines of at most kColumns, each after `indent` spaces.
std::string wrapped(const std::string& text, std::size_t indent) {
  std::string out, line(indent, ' ');
  for (const std::string& word : split_at_spaces(text)) {
    if (line.size() > indent && line.size() + 1 + word.size() > kColumns) {
      out += line + "\n";
      line.assign(indent, ' ');
    }
    if (line.size() > indent) line += ' ';
    line += word;
  }
  return out + line + "\n";
}

std::string value_word(const Option& option) {
  switch (option.type) {
    case OptionType::flag:
      return {};
    case OptionType::integer:
      return " N";
    case OptionType::real:
      return " NUMBER";
    case OptionType::text:
      return " TEXT";
    case OptionType::path:
      return " PATH";
    case OptionType::choice:
      return " CHOICE";
    case OptionType::steps:
      return " STEPS";
    case OptionType::text_list:
      return " TEXT …";
    case OptionType::real_list:
      return " NUMBER …";
  }
  return {};
}

// Values that do not work, those with one reason together.
std::vector<std::pair<TextId, std::vector<std::string>>> values_by_reason(const Option& option) {
  std::vector<std::pair<TextId, std::vector<std::string>>> groups;
  for (const ValueState& value : option.values) {
    if (groups.empty() || groups.back().first.id != value.reason.id) groups.push_back({value.reason, {}});
    groups.back().second.emplace_back(value.value);
  }
  return groups;
}

std::string option_text(const Option& option) {
  std::vector<std::string> facts;
  if (!option.choices.empty())
    facts.push_back(message(option.other_values ? kNames : kChoices, join_views(option.choices)).english());
  const std::string standard = field_text(option.standard);
  if (option.type != OptionType::flag && !standard.empty()) facts.push_back(message(kDefault, standard).english());
  if (option.origin == Origin::ours) facts.push_back(english(kOurs));
  std::string text = "  --" + std::string(option.name) + value_word(option) + "\n" + wrapped(english(option.help), 6);
  if (!facts.empty()) text += wrapped("(" + join(facts, "; ") + ")", 6);
  if (option.state != OptionClass::works) {
    const std::string why = message(option.reason, option.name).english();
    text += wrapped(message(option.state == OptionClass::no_effect ? kNoEffect : kUnavailable, why).english(), 6);
  }
  for (const auto& [reason, values] : values_by_reason(option)) {
    const std::string why = message(reason, format("{} {}", option.name, join(values, ", "))).english();
    text += wrapped(message(kUnavailable, why).english(), 6);
  }
  return text;
}

std::string section_text(Section section) {
  std::string text = english(title(section)) + "\n";
  for (const Option& option : options()) {
    if (option.section == section) text += option_text(option);
  }
  return text;
}

std::string dataset_file_text() {
  std::string text = english(kDatasetFile) + "\n" + wrapped(english(kDatasetUsage), 2);
  for (const DatasetKey& key : dataset_keys()) {
    std::vector<std::string> places;
    for (const KeyLevel level : {KeyLevel::general, KeyLevel::dataset, KeyLevel::subset}) {
      if (key.stands_at(level)) places.emplace_back(name(level));
    }
    std::vector<std::string> facts = {std::string(name(key.type)), message(kWhere, join(places, ", ")).english()};
    if (!key.choices.empty()) facts.push_back(message(kChoices, join_views(key.choices)).english());
    text +=
        "  " + std::string(key.name) + "\n" + wrapped(english(key.help), 6) + wrapped("(" + join(facts, "; ") + ")", 6);
  }
  return text;
}

}  // namespace

std::vector<std::string> help_topics() {
  std::vector<std::string> topics;
  for (const Section section : sections()) topics.emplace_back(name(section));
  topics.emplace_back("dataset_file");
  topics.emplace_back("options");
  return topics;
}

std::string help_overview() {
  std::string text = wrapped(english(kUsage), 0) + "\n" + english(kTopics) + "\n";
  const auto add = [&text](std::string_view topic, TextId what) {
    text += format("  {:<14}{}\n", topic, english(what));
  };
  for (const Section section : sections()) add(name(section), title(section));
  add("dataset_file", kDatasetFile);
  add("options", kAllOptions);
  return text;
}

std::optional<std::string> help_topic(std::string_view topic) {
  for (const Section section : sections()) {
    if (name(section) == topic) return section_text(section);
  }
  if (topic == "dataset_file") return dataset_file_text();
  if (topic == "options") {
    std::string all;
    for (const Section section : sections()) all += (all.empty() ? "" : "\n") + section_text(section);
    return all;
  }
  while (topic.starts_with('-')) topic.remove_prefix(1);
  if (const Option* option = match_option(topic).option) return option_text(*option);
  return std::nullopt;
}

}  // namespace lathe::config
