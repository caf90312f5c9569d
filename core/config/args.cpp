#include "core/config/args.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "core/base/paths.h"
#include "core/config/launcher.h"
#include "core/config/option_names.h"
#include "core/config/python_literal.h"
#include "core/config/utf8.h"
#include "core/config/value_text.h"

namespace lathe::config {

namespace {

constexpr TextId kUnknown = LATHE_TEXT("args.unknown", "unknown option --{}");
constexpr TextId kUnknownNear = LATHE_TEXT("args.unknown_near", "unknown option --{}; did you mean --{}?");
constexpr TextId kOneDash = LATHE_TEXT("args.one_dash", "unknown option {}; options begin with two dashes: --{}");
constexpr TextId kAmbiguous = LATHE_TEXT("args.ambiguous", "--{} could mean {}");
constexpr TextId kNeedsValue = LATHE_TEXT("args.needs_value", "--{} needs a value after it");
constexpr TextId kStray = LATHE_TEXT("args.stray", "the word '{}' belongs to no option");
constexpr TextId kStrayAfterFlag =
    LATHE_TEXT("args.stray_after_flag",
               "the word '{}' belongs to no option: --{} takes no value (write --{}=false to turn it off)");
constexpr TextId kTwice = LATHE_TEXT("args.twice", "--{} is given twice; the last one counts");
constexpr TextId kTwoFiles = LATHE_TEXT("args.two_files", "the settings file is given twice: {} and {}");
constexpr TextId kConfigExists =
    LATHE_TEXT("args.config_exists", "output_config: {} exists already and is not written over");
constexpr TextId kOutputConfigAlone =
    LATHE_TEXT("args.output_config_alone", "output_config needs config_file, the file to write");

// An option as it stood on the command line.
struct Given {
  const Option* option = nullptr;
  std::vector<std::string> values;
  bool has_value = false;  // a flag without one is true
};

bool is_list(const Option& option) {
  return option.type == OptionType::text_list || option.type == OptionType::real_list;
}

class WordReader {
 public:
  WordReader(const std::vector<std::string>& words, Findings& findings) : words_(words), findings_(findings) {}

  std::vector<Given> given;
  std::string file;  // a settings file given as a word
  bool help = false;
  std::string help_topic;

  void read() {
    while (at_ < words_.size()) {
      const std::string& word = words_[at_++];
      if (word == "-h" || word == "--help") {
        help = true;
        if (at_ < words_.size() && is_value(words_[at_])) help_topic = words_[at_++];
      } else if (word == "--") {
        while (at_ < words_.size()) stray(words_[at_++]);
      } else if (is_value(word)) {
        stray(word);
      } else {
        read_option(word);
      }
    }
  }

 private:
  // Whether the parser takes a word as a value where one may stand. "-5" and "-x" are values: no option here begins
  // with one dash. "--a text with spaces" is one too unless it begins with an option's name.
  static bool is_value(const std::string& word) {
    if (!word.starts_with("--")) return word != "-h";
    if (word.size() == 2 || word.find(' ') == std::string::npos) return false;
    const std::string_view name =
        std::string_view(word).substr(2, word.find('=') == std::string::npos ? std::string::npos : word.find('=') - 2);
    const NameMatch match = match_option(name);
    return match.option == nullptr && match.candidates.empty();
  }

  void read_option(const std::string& word) {
    const std::size_t equals = word.find('=');
    const std::string name = word.substr(2, equals == std::string::npos ? std::string::npos : equals - 2);
    const NameMatch match = match_option(name);
    if (match.option == nullptr) {
      report_name(name, match);
      if (equals == std::string::npos) skip_values();
      return;
    }
    Given found{match.option, {}, false};
    if (equals != std::string::npos) {
      found.values.push_back(word.substr(equals + 1));
    } else if (is_list(*match.option)) {
      while (at_ < words_.size() && is_value(words_[at_])) found.values.push_back(words_[at_++]);
    } else if (match.option->type != OptionType::flag) {
      if (at_ == words_.size() || !is_value(words_[at_])) {
        findings_.error({std::string(match.option->name)}, message(kNeedsValue, match.option->name));
        return;
      }
      found.values.push_back(words_[at_++]);
    }
    found.has_value = !found.values.empty();
    last_flag_ = match.option->type == OptionType::flag && !found.has_value ? match.option : nullptr;
    given.push_back(std::move(found));
  }

  void report_name(const std::string& name, const NameMatch& match) {
    if (!match.candidates.empty()) {
      std::vector<std::string> dashed;
      for (const std::string& candidate : match.candidates) dashed.push_back("--" + candidate);
      findings_.error({}, message(kAmbiguous, one_line(name), join(dashed, ", ")));
      return;
    }
    const std::string nearest = nearest_name(name, option_names());
    Finding& finding = findings_.error(
        {}, nearest.empty() ? message(kUnknown, one_line(name)) : message(kUnknownNear, one_line(name), nearest));
    if (!nearest.empty()) finding.fields = {nearest};
  }

  void skip_values() {
    while (at_ < words_.size() && is_value(words_[at_])) ++at_;
  }

  void stray(const std::string& word) {
    const Option* flag = std::exchange(last_flag_, nullptr);
    if (word.ends_with(".toml") && file.empty()) {
      file = word;
    } else if (word.starts_with('-') && word.size() > 2 && !word.starts_with("--") && !parse_python_float(word)) {
      findings_.error({}, message(kOneDash, one_line(word), one_line(word.substr(1))));
    } else if (flag != nullptr) {
      findings_.error({std::string(flag->name)}, message(kStrayAfterFlag, one_line(word), flag->name, flag->name));
    } else {
      findings_.error({}, message(kStray, one_line(word)));
    }
  }

  const std::vector<std::string>& words_;
  Findings& findings_;
  std::size_t at_ = 0;
  const Option* last_flag_ = nullptr;  // the flag before the present word
};

std::optional<Value> value_of(const Given& given, Message& problem) {
  if (is_list(*given.option)) return value_from_words(*given.option, given.values, problem);
  if (!given.has_value) return Value(true);
  return value_from_word(*given.option, given.values.front(), problem);
}

void set_all(const std::vector<Given>& given, Settings& settings, Findings& findings) {
  std::map<std::string_view, Value> seen;
  for (const Given& one : given) {
    Message problem;
    std::optional<Value> value = value_of(one, problem);
    if (!value) {
      findings.error({std::string(one.option->name)}, std::move(problem));
      continue;
    }
    const auto [earlier, first] = seen.emplace(one.option->name, *value);
    if (!first && !(earlier->second == *value)) {
      findings.note({std::string(one.option->name)}, message(kTwice, one.option->name));
      earlier->second = *value;
    }
    settings.set(one.option->name, std::move(*value), Source::command_line);
  }
}

// config_file as given: the last one, with ".toml" added as the reference does.
std::string settings_file_of(const WordReader& reader, Findings& findings) {
  std::string named;
  for (const Given& one : reader.given) {
    if (one.option->name == "config_file") named = one.values.front();
  }
  if (!named.empty() && !reader.file.empty()) findings.error({"config_file"}, message(kTwoFiles, named, reader.file));
  if (named.empty()) return reader.file;
  return named.ends_with(".toml") ? named : named + ".toml";
}

}  // namespace

Arguments parse_arguments(const std::vector<std::string>& words, Findings& findings) {
  Arguments arguments;
  const LauncherWords launcher = strip_launcher(words, findings);
  WordReader reader(launcher.rest, findings);
  reader.read();
  arguments.help = reader.help;
  arguments.help_topic = reader.help_topic;

  const std::string file = settings_file_of(reader, findings);
  const bool writes_config = std::ranges::any_of(
      reader.given, [](const Given& one) { return one.option->name == "output_config" && !one.has_value; });
  if (writes_config && file.empty()) findings.error({"config_file"}, message(kOutputConfigAlone));
  if (writes_config && !file.empty() && std::filesystem::exists(from_utf8(file))) {
    findings.error({"output_config", "config_file"}, message(kConfigExists, file));
  }
  if (!writes_config && !file.empty()) {
    read_settings_file(from_utf8(file), arguments.settings, arguments.places, findings);
  }
  set_all(reader.given, arguments.settings, findings);
  if (!file.empty()) arguments.settings.set("config_file", file, Source::command_line);
  answer_launcher(launcher, arguments.settings, findings);
  for (const Given& one : reader.given) arguments.places.erase(std::string(one.option->name));
  return arguments;
}

}  // namespace lathe::config
