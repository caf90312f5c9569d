#include <algorithm>
#include <cstddef>
#include <iterator>
#include <limits>
#include <unordered_map>

#include <nlohmann/json.hpp>

#include "core/config/document.h"
#include "core/config/document_text.h"
#include "core/config/utf8.h"

namespace lathe::config {

namespace {

constexpr TextId kSyntax = LATHE_TEXT("json.syntax", "not valid JSON: {}");
constexpr TextId kTooDeep = LATHE_TEXT("json.too_deep", "objects or lists are nested more than {} deep");
constexpr TextId kTooBig = LATHE_TEXT("json.too_big", "the number {} is too large");

// Walks over the text and leaves in *line the line of the last character that the parser took.
class CountingIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  CountingIterator(const char* at, int* line) : at_(at), line_(line) {}
  reference operator*() const { return *at_; }
  CountingIterator& operator++() {
    if (*at_++ == '\n') ++*line_;
    return *this;
  }
  CountingIterator operator++(int) {
    CountingIterator before = *this;
    ++*this;
    return before;
  }
  bool operator==(const CountingIterator& other) const { return at_ == other.at_; }
  bool operator!=(const CountingIterator& other) const { return at_ != other.at_; }

 private:
  const char* at_;
  int* line_;
};

// As Python does where an object holds a key twice.
void keep_last_of_equal_keys(std::vector<Member>& members) {
  std::unordered_map<std::string_view, std::size_t> last;
  for (std::size_t i = 0; i < members.size(); ++i) last[members[i].key] = i;
  if (last.size() == members.size()) return;
  std::vector<std::size_t> kept;
  for (const auto& [key, index] : last) kept.push_back(index);
  std::ranges::sort(kept);
  std::vector<Member> unique;
  for (const std::size_t index : kept) unique.push_back(std::move(members[index]));
  members = std::move(unique);
}

// Builds the tree as the parser reports what it meets; returning false stops it.
class TreeBuilder : public nlohmann::json_sax<nlohmann::json> {
 public:
  TreeBuilder(const std::filesystem::path& name, const int& line, Findings& findings)
      : name_(name), line_(line), findings_(findings) {}

  Node root;

  bool null() override { return add({}); }
  bool boolean(bool value) override { return add({.kind = Node::Kind::boolean, .boolean = value}); }
  bool number_integer(number_integer_t value) override { return add({.kind = Node::Kind::integer, .integer = value}); }
  bool number_unsigned(number_unsigned_t value) override {
    if (value > static_cast<number_unsigned_t>(std::numeric_limits<std::int64_t>::max())) {
      return fail(message(kTooBig, static_cast<std::uint64_t>(value)));
    }
    return add({.kind = Node::Kind::integer, .integer = static_cast<std::int64_t>(value)});
  }
  bool number_float(number_float_t value, const string_t&) override {
    return add({.kind = Node::Kind::real, .real = value});
  }
  bool string(string_t& value) override { return add({.kind = Node::Kind::text, .text = std::move(value)}); }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override { return open(Node::Kind::table); }
  bool start_array(std::size_t) override { return open(Node::Kind::list); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(string_t& value) override {
    open_.back()->members.push_back({std::move(value), {}, line_, 0});
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception& problem) override {
    std::string what = problem.what();
    if (const std::size_t at = what.find(": ", what.find("column")); at != std::string::npos) what.erase(0, at + 2);
    return fail(message(kSyntax, one_line(what)));
  }

 private:
  bool fail(Message text) {
    add_at(findings_, name_, line_, 0, std::move(text));
    return false;
  }

  Node& place(Node node) {
    node.line = line_;
    if (open_.empty()) return root = std::move(node);
    Node& parent = *open_.back();
    if (parent.kind == Node::Kind::list) return parent.items.emplace_back(std::move(node));
    return parent.members.back().value = std::move(node);
  }

  bool add(Node node) {
    place(std::move(node));
    return true;
  }

  bool open(Node::Kind kind) {
    if (open_.size() >= static_cast<std::size_t>(kDeepestConfig)) return fail(message(kTooDeep, kDeepestConfig));
    open_.push_back(&place({.kind = kind}));
    return true;
  }

  bool close() {
    keep_last_of_equal_keys(open_.back()->members);
    open_.pop_back();
    return true;
  }

  const std::filesystem::path& name_;
  const int& line_;
  Findings& findings_;
  std::vector<Node*> open_;  // a parent's vector grows only while its last element is closed
};

}  // namespace

std::optional<Node> parse_json(std::string_view text, const std::filesystem::path& name, Findings& findings) {
  if (!is_utf8(text, name, findings)) return std::nullopt;
  int line = 1;
  TreeBuilder builder(name, line, findings);
  const CountingIterator first(text.data(), &line), last(text.data() + text.size(), &line);
  if (!nlohmann::json::sax_parse(first, last, &builder)) return std::nullopt;
  return std::move(builder.root);
}

}  // namespace lathe::config
