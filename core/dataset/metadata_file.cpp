#include "core/dataset/metadata_file.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "core/base/error.h"
#include "core/base/files.h"
#include "core/base/format.h"
#include "core/base/paths.h"
#include "core/dataset/json_members.h"
#include "core/text/utf8.h"

namespace lathe::dataset {

namespace fs = std::filesystem;
using nlohmann::json;

namespace {

constexpr TextId kNotJson = LATHE_TEXT("dataset.metadata.not_json", "this is not valid JSON: {}");
constexpr TextId kNotAnObject =
    LATHE_TEXT("dataset.metadata.not_an_object", "the file must hold one object that maps image paths to captions");
constexpr TextId kBadEntry = LATHE_TEXT("dataset.metadata.bad_entry", "the entry of '{}' is left out: {}");
constexpr TextId kNoPath = LATHE_TEXT("dataset.metadata.no_path", "the line has no image_path and is left out");

class Reader {
 public:
  Reader(const fs::path& path, config::Findings& findings) : path_(path), findings_(findings) {}

  void one_object(const std::string& text) {
    try {
      if (!for_each_member(text, [&](const std::string& key, const json& value) { add(key, value, 0); })) {
        report(kNotAnObject, 1);
      }
    } catch (const json::exception& error) {
      report(kNotJson, 0, error.what());  // the text says line and column
    }
  }

  void json_lines(const std::string& text) {
    int number = 0;
    for (const std::string_view line : text::python_split(text, "\n")) {
      ++number;
      if (text::python_strip(line).empty()) continue;
      json value;
      try {
        value = json::parse(line);
      } catch (const json::exception& error) {
        report(kNotJson, number, error.what());
        continue;
      }
      const auto key = value.is_object() ? value.find("image_path") : value.end();
      if (key == value.end() || !key->is_string()) {
        report(kNoPath, number);
        continue;
      }
      add(key->get<std::string>(), value, number);
    }
  }

  std::vector<MetadataEntry> take() {
    std::ranges::stable_sort(entries_, std::greater<>(), [](const MetadataEntry& e) { return code_points(e.key); });
    return std::move(entries_);
  }

 private:
  static std::size_t code_points(std::string_view text) {
    return static_cast<std::size_t>(
        std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
  }

  void add(const std::string& key, const json& value, int line) {
    if (!value.is_object()) return report(kBadEntry, line, key, "it is not an object");
    MetadataEntry entry{key, "", "", std::nullopt};
    for (const auto& [name, target] : {std::pair("caption", &entry.caption), std::pair("tags", &entry.tags)}) {
      const auto member = value.find(name);
      if (member == value.end() || member->is_null()) continue;
      if (!member->is_string()) return report(kBadEntry, line, key, format("'{}' is not a text", name));
      *target = member->get<std::string>();
    }
    if (const auto member = value.find("image_size"); member != value.end() && !member->is_null()) {
      entry.size = size_of(*member);
      if (!entry.size) return report(kBadEntry, line, key, "'image_size' is not [width, height]");
    }
    const auto [known, is_new] = index_.try_emplace(key, entries_.size());
    if (is_new) {
      entries_.push_back(std::move(entry));
    } else {
      entries_[known->second] = std::move(entry);
    }
  }

  static std::optional<Size> size_of(const json& value) {
    if (!value.is_array() || value.size() != 2) return std::nullopt;
    int sides[2];
    for (std::size_t i = 0; i < 2; ++i) {
      if (!value[i].is_number_integer()) return std::nullopt;
      const auto side = value[i].get<std::int64_t>();
      if (side <= 0 || side > std::numeric_limits<int>::max()) return std::nullopt;
      sides[i] = static_cast<int>(side);
    }
    return Size{sides[0], sides[1]};
  }

  template <class... A>
  void report(TextId text, int line, A&&... arguments) {
    findings_.add(
        {config::Severity::error, {"metadata_file"}, message(text, std::forward<A>(arguments)...), {}, path_, line, 0});
  }

  const fs::path& path_;
  config::Findings& findings_;
  std::vector<MetadataEntry> entries_;
  std::unordered_map<std::string, std::size_t> index_;  // key → place in entries_
};

}  // namespace

std::vector<MetadataEntry> read_metadata_file(const fs::path& path, config::Findings& findings) {
  Reader reader(path, findings);
  const std::string text = read_text(path);
  if (to_utf8(path).ends_with(".jsonl")) {
    reader.json_lines(text);
  } else {
    reader.one_object(text);
  }
  return reader.take();
}

std::string compose_caption(const MetadataEntry& entry, bool enable_wildcard, std::string_view separator) {
  if (entry.tags.empty()) return entry.caption;
  if (!enable_wildcard) {
    return entry.caption.empty() ? entry.tags : entry.caption + std::string(separator) + entry.tags;
  }
  const std::string tags = text::replace_all(entry.tags, "\n", separator);
  std::vector<std::string> lines;
  for (const std::string_view line : text::python_split(entry.caption, "\n")) {
    if (!text::python_strip(line).empty()) lines.push_back(std::string(line) + std::string(separator) + tags);
  }
  return lines.empty() ? tags : join(lines, "\n");
}

}  // namespace lathe::dataset
