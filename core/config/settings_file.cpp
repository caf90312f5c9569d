#include <map>
#include <set>
#include <utility>

#include "core/config/args.h"
#include "core/config/document.h"
#include "core/config/option_names.h"
#include "core/config/settings_file.h"
#include "core/config/utf8.h"
#include "core/config/value_text.h"

namespace lathe::config {

namespace {

constexpr TextId kUnknown = LATHE_TEXT("file.unknown", "unknown option '{}'");
constexpr TextId kUnknownNear = LATHE_TEXT("file.unknown_near", "unknown option '{}'; did you mean '{}'?");
constexpr TextId kIsDataset = LATHE_TEXT(
    "file.is_dataset", "this file describes datasets ([[datasets]]), not options; give it as dataset_config");
constexpr TextId kTwice =
    LATHE_TEXT("file.twice", "'{}' stands in two tables (lines {} and {}); the later one counts, as in the reference");
constexpr TextId kNoMeaning = LATHE_TEXT("file.no_meaning", "'{}' has no meaning inside a settings file");

// Keys of the top level and of every table in it, in the order of the file.
std::vector<const Member*> flattened(const Node& root) {
  std::vector<const Member*> all;
  for (const Member& member : root.members) {
    if (member.value.kind != Node::Kind::table) {
      all.push_back(&member);
      continue;
    }
    for (const Member& inner : member.value.members) all.push_back(&inner);
  }
  return all;
}

class FileReader {
 public:
  FileReader(const std::filesystem::path& file, Settings& settings, Places& places, Findings& findings)
      : file_(file), settings_(settings), places_(places), findings_(findings) {}

  void read(const Member& member) {
    const Option* option = option_by_written_name(member.key);
    if (option == nullptr) {
      const std::string nearest = nearest_name(member.key, option_names());
      const std::string shown = one_line(member.key);
      report(Severity::error, member, nearest,
             nearest.empty() ? message(kUnknown, shown) : message(kUnknownNear, shown, nearest));
      return;
    }
    const std::string name(option->name);
    if (name == "config_file" || name == "output_config") {
      report(Severity::warning, member, name, message(kNoMeaning, name));
      return;
    }
    Message problem;
    std::optional<Value> value = value_from_node(*option, member.value, problem);
    if (!value) {
      report(Severity::error, member, name, std::move(problem));
      return;
    }
    const auto [earlier, first] = lines_.emplace(name, member.line);
    if (!first) report(Severity::warning, member, name, message(kTwice, name, earlier->second, member.line));
    settings_.set(name, std::move(*value), Source::file);
    places_[name] = {file_, member.line, member.column};
  }

 private:
  void report(Severity severity, const Member& member, const std::string& field, Message text) {
    Finding finding{
        .severity = severity, .message = std::move(text), .file = file_, .line = member.line, .column = member.column};
    if (!field.empty()) finding.fields = {field};
    findings_.add(std::move(finding));
  }

  const std::filesystem::path& file_;
  Settings& settings_;
  Places& places_;
  Findings& findings_;
  std::map<std::string, int> lines_;
};

}  // namespace

void take_settings(const Node& root, const std::filesystem::path& file, Settings& settings, Places& places,
                   Findings& findings) {
  FileReader reader(file, settings, places, findings);
  for (const Member* member : flattened(root)) reader.read(*member);
}

void read_settings_file(const std::filesystem::path& file, Settings& settings, Places& places, Findings& findings) {
  const std::optional<Node> root = read_toml(file, findings);
  if (!root) return;
  const Member* datasets = root->find("datasets");
  if (datasets != nullptr && datasets->value.kind == Node::Kind::list) {
    findings.add({.severity = Severity::error,
                  .fields = {"dataset_config"},
                  .message = message(kIsDataset),
                  .file = file,
                  .line = datasets->line,
                  .column = datasets->column});
    return;
  }
  take_settings(*root, file, settings, places, findings);
}

}  // namespace lathe::config
