#include <algorithm>
#include <sstream>

#include <toml++/toml.h>

#include "core/config/document.h"
#include "core/config/document_text.h"
#include "core/config/utf8.h"

namespace lathe::config {

namespace {

constexpr TextId kSyntax = LATHE_TEXT("toml.syntax", "not valid TOML: {}");
constexpr TextId kEscape = LATHE_TEXT(
    "toml.escape", "not valid TOML: {}; a backslash begins an escape inside \"…\": write '…', \"\\\\\" or '/'");
constexpr TextId kTooDeep = LATHE_TEXT("toml.too_deep", "tables or lists are nested more than {} deep");

// Where a text nests deeper than allowed, by its brackets, braces and dotted keys; the parser and the destructors of
// its tree recurse, so this is found out before. Returns the line, or 0.
class DepthCheck {
 public:
  explicit DepthCheck(std::string_view text) : text_(text) {}

  int line_of_excess() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '"' || c == '\'') {
        skip_text(c);
        continue;
      }
      if (c == '#') {
        at_ = std::min(text_.find('\n', at_), text_.size());
        continue;
      }
      count(c);
      if (open_ + dots_ > kDeepestConfig) return line_of(text_, at_);
      ++at_;
    }
    return 0;
  }

 private:
  void count(char c) {
    if (c == '.') ++dots_;
    if (c == '\n' || c == '=' || c == ',' || c == ']' || c == '}' || c == '{') dots_ = 0;
    if (c == '[' || c == '{') ++open_;
    if ((c == ']' || c == '}') && open_ > 0) --open_;
  }

  void skip_text(char quote) {
    const std::string triple(3, quote);
    const bool long_text = text_.substr(at_).starts_with(triple);
    at_ += long_text ? 3 : 1;
    while (at_ < text_.size()) {
      if (quote == '"' && text_[at_] == '\\') {
        at_ += 2;
        continue;
      }
      if (long_text && text_.substr(at_).starts_with(triple)) {
        at_ += 3;
        while (at_ < text_.size() && text_[at_] == quote) ++at_;  // quotes before the closing three
        return;
      }
      const char c = text_[at_++];
      if (!long_text && (c == quote || c == '\n')) return;
    }
  }

  std::string_view text_;
  std::size_t at_ = 0;
  int open_ = 0, dots_ = 0;
};

template <class T>
std::string as_text(const T& value) {
  std::ostringstream out;
  out << value;
  return out.str();
}

void set_place(int& line, int& column, const toml::source_region& source) {
  line = static_cast<int>(source.begin.line);
  column = static_cast<int>(source.begin.column);
}

Node convert(const toml::node& from);

void add_members(Node& node, const toml::table& table) {
  for (const auto& [key, value] : table) {
    Member member{std::string(key.str()), convert(value), 0, 0};
    set_place(member.line, member.column, key.source());
    node.members.push_back(std::move(member));
  }
  // The library sorts by name; the file's order decides which of two equal options counts.
  std::ranges::stable_sort(node.members, [](const Member& a, const Member& b) {
    return std::pair(a.line, a.column) < std::pair(b.line, b.column);
  });
}

Node convert(const toml::node& from) {
  Node node;
  set_place(node.line, node.column, from.source());
  if (const auto* table = from.as_table()) {
    node.kind = Node::Kind::table;
    add_members(node, *table);
  } else if (const auto* list = from.as_array()) {
    node.kind = Node::Kind::list;
    for (const toml::node& item : *list) node.items.push_back(convert(item));
  } else if (const auto* text = from.as_string()) {
    node.kind = Node::Kind::text;
    node.text = text->get();
  } else if (const auto* whole = from.as_integer()) {
    node.kind = Node::Kind::integer;
    node.integer = whole->get();
  } else if (const auto* real = from.as_floating_point()) {
    node.kind = Node::Kind::real;
    node.real = real->get();
  } else if (const auto* boolean = from.as_boolean()) {
    node.kind = Node::Kind::boolean;
    node.boolean = boolean->get();
  } else {
    node.kind = Node::Kind::date;
    if (const auto* date = from.as_date()) node.text = as_text(date->get());
    if (const auto* time = from.as_time()) node.text = as_text(time->get());
    if (const auto* both = from.as_date_time()) node.text = as_text(both->get());
  }
  return node;
}

}  // namespace

std::optional<Node> parse_toml(std::string_view text, const std::filesystem::path& name, Findings& findings) {
  if (!is_utf8(text, name, findings)) return std::nullopt;
  if (const int line = DepthCheck(text).line_of_excess(); line > 0) {
    add_at(findings, name, line, 0, message(kTooDeep, kDeepestConfig));
    return std::nullopt;
  }
  try {
    return convert(toml::parse(text));
  } catch (const toml::parse_error& problem) {
    int line = 0, column = 0;
    set_place(line, column, problem.source());
    const std::string what = one_line(problem.description());
    const bool escape = what.find("escape") != std::string::npos || what.find("unicode scalar") != std::string::npos;
    add_at(findings, name, line, column, message(escape ? kEscape : kSyntax, what));
    return std::nullopt;
  }
}

}  // namespace lathe::config
