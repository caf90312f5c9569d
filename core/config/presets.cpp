#include "core/config/presets.h"

#include <algorithm>
#include <optional>
#include <system_error>

#include "core/base/paths.h"
#include "core/config/schema.h"
#include "core/config/settings_file.h"

namespace lathe::config {

namespace fs = std::filesystem;

namespace {

constexpr TextId kNoTitle = LATHE_TEXT("preset.no_title", "a preset needs a table [preset] with title and help");
constexpr TextId kMachine = LATHE_TEXT("preset.machine", "a preset cannot set {}: it belongs to one machine");

bool belongs_to_machine(const Option& option) {
  return option.path != PathKind::none || option.secret;
}

std::string text_of(const Node& table, std::string_view key) {
  const Member* member = table.find(key);
  return member == nullptr ? std::string() : member->value.text;
}

std::optional<Preset> read_preset(const fs::path& file, Findings& findings) {
  const std::size_t errors = findings.count(Severity::error);
  std::optional<Node> root = read_toml(file, findings);
  if (!root) return std::nullopt;
  Preset preset;
  preset.name = to_utf8(file.stem());
  if (const Member* about = root->find("preset")) {
    preset.title = text_of(about->value, "title");
    preset.help = text_of(about->value, "help");
  }
  std::erase_if(root->members, [](const Member& member) { return member.key == "preset"; });
  if (preset.title.empty() || preset.help.empty()) {
    findings.add({.severity = Severity::error, .message = message(kNoTitle), .file = file});
  }
  Settings settings;
  Places places;
  take_settings(*root, file, settings, places, findings);
  for (const Option& option : options()) {
    if (settings.source(option.name) == Source::standard) continue;
    const std::string name(option.name);
    if (belongs_to_machine(option)) {
      findings.add(
          {.severity = Severity::error, .message = message(kMachine, name), .file = file, .line = places[name].line});
    }
    preset.values.emplace_back(name, settings.value(option.name));
  }
  if (findings.count(Severity::error) > errors) return std::nullopt;
  return preset;
}

}  // namespace

std::vector<Preset> read_presets(const fs::path& folder, Findings& findings) {
  std::vector<fs::path> files;
  std::error_code failed;
  for (fs::directory_iterator entry(folder, failed), end; !failed && entry != end; entry.increment(failed)) {
    if (entry->path().extension() == ".toml") files.push_back(entry->path());
  }
  std::ranges::sort(files);
  std::vector<Preset> presets;
  for (const fs::path& file : files) {
    if (std::optional<Preset> preset = read_preset(file, findings)) presets.push_back(std::move(*preset));
  }
  return presets;
}

std::vector<Preset> read_presets(Findings& findings) {
  return read_presets(resource_folder() / "presets", findings);
}

void apply(const Preset& preset, Settings& settings) {
  for (const auto& [name, value] : preset.values) {
    if (settings.source(name) != Source::command_line) settings.set(name, value, Source::file);
  }
}

}  // namespace lathe::config
