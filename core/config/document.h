#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/config/diagnostic.h"

// What a TOML or JSON file holds, with the line of everything, free of the libraries that read it.
namespace lathe::config {

struct Member;

struct Node {
  enum class Kind { null, boolean, integer, real, text, date, list, table };
  Kind kind = Kind::null;
  bool boolean = false;
  std::int64_t integer = 0;
  double real = 0.0;
  std::string text;             // a date: as TOML writes it
  std::vector<Node> items;      // of a list
  std::vector<Member> members;  // of a table, in the order of the file
  int line = 0, column = 0;     // of the value

  const Member* find(std::string_view key) const;
  // What the value is, for messages: "text", "a whole number", "a list" …
  std::string_view kind_name() const;
};

struct Member {
  std::string key;
  Node value;
  int line = 0, column = 0;  // of the key
};

// The table that a file holds. nullopt: the file cannot be read or is not well-formed; one error in `findings` says
// where. Files are UTF-8. Hostile files (huge, deeply nested) are refused in the same way.
std::optional<Node> read_toml(const std::filesystem::path& file, Findings& findings);
std::optional<Node> read_json(const std::filesystem::path& file, Findings& findings);
// The same from a text; `name` stands for the file in messages.
std::optional<Node> parse_toml(std::string_view text, const std::filesystem::path& name, Findings& findings);
std::optional<Node> parse_json(std::string_view text, const std::filesystem::path& name, Findings& findings);

inline constexpr std::uintmax_t kLargestConfigBytes = 16u << 20;  // 16 MiB
inline constexpr int kDeepestConfig = 64;                         // tables and lists inside each other

}  // namespace lathe::config
