#include "core/text/qwen3_words.h"

#include <cstddef>

#include <utf8proc.h>

#include "core/text/code_points.h"
#include "core/text/utf8.h"

namespace lathe::text {

const std::string_view kQwen3WordPattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

namespace {

enum class Kind { letter, number, newline, space, other, end };

struct Character {
  char32_t value;
  Kind kind;
  std::size_t offset;  // in bytes
};

// Letters and numbers of Unicode 15 to 16: utf8proc 2.8 stops at Unicode 14.
constexpr CodePointRange kNewLetters[] = {
    {0x1C89, 0x1C8A},   {0xA7CB, 0xA7CD},   {0xA7DA, 0xA7DC},   {0x105C0, 0x105F3}, {0x10D4A, 0x10D65},
    {0x10D6F, 0x10D85}, {0x10EC2, 0x10EC4}, {0x1123F, 0x11240}, {0x11380, 0x11389}, {0x1138B, 0x1138B},
    {0x1138E, 0x1138E}, {0x11390, 0x113B5}, {0x113B7, 0x113B7}, {0x113D1, 0x113D1}, {0x113D3, 0x113D3},
    {0x11BC0, 0x11BE0}, {0x11F02, 0x11F02}, {0x11F04, 0x11F10}, {0x11F12, 0x11F33}, {0x1342F, 0x1342F},
    {0x13441, 0x13446}, {0x13460, 0x143FA}, {0x16100, 0x1611D}, {0x16D40, 0x16D6C}, {0x18CFF, 0x18CFF},
    {0x1B132, 0x1B132}, {0x1B155, 0x1B155}, {0x1DF25, 0x1DF2A}, {0x1E030, 0x1E06D}, {0x1E4D0, 0x1E4EB},
    {0x1E5D0, 0x1E5ED}, {0x1E5F0, 0x1E5F0}, {0x2B739, 0x2B739}, {0x2EBF0, 0x2EE5D}, {0x31350, 0x323AF}};
constexpr CodePointRange kNewNumbers[] = {
    {0x10D40, 0x10D49}, {0x116D0, 0x116E3}, {0x11BF0, 0x11BF9}, {0x11F50, 0x11F59}, {0x16130, 0x16139},
    {0x16D70, 0x16D79}, {0x1CCF0, 0x1CCF9}, {0x1D2C0, 0x1D2D3}, {0x1E4F0, 0x1E4F9}, {0x1E5F1, 0x1E5FA}};

Kind kind_by_category(char32_t c) {
  switch (utf8proc_category(static_cast<utf8proc_int32_t>(c))) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
      return Kind::letter;
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_NO:
      return Kind::number;
    case UTF8PROC_CATEGORY_CN:
      return lies_in(kNewLetters, c) ? Kind::letter : lies_in(kNewNumbers, c) ? Kind::number : Kind::other;
    default:
      return Kind::other;
  }
}

Kind kind_of(char32_t c) {
  if (c == '\r' || c == '\n') return Kind::newline;
  if (is_white_space(c)) return Kind::space;
  return kind_by_category(c);
}

// Ends with a character of kind `end`, so that looking one ahead is always allowed.
std::vector<Character> characters_of(std::string_view text) {
  std::vector<Character> characters;
  characters.reserve(text.size() + 1);
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint c = decode(text, at);
    characters.push_back({c.value, kind_of(c.value), at});
    at += c.size;
  }
  characters.push_back({0, Kind::end, text.size()});
  return characters;
}

class Scanner {
 public:
  explicit Scanner(std::string_view text) : characters_(characters_of(text)) {}

  bool at_end(std::size_t at) const { return kind(at) == Kind::end; }
  std::size_t offset(std::size_t at) const { return characters_[at].offset; }

  // The alternatives of the expression in its order.
  std::size_t end_of_word(std::size_t at) const {
    if (const std::size_t length = contraction(at); length > 0) return at + length;

    const bool may_lead = kind(at) == Kind::space || kind(at) == Kind::other;
    const std::size_t letters = may_lead && kind(at + 1) == Kind::letter ? at + 1 : at;
    if (kind(letters) == Kind::letter) return skip(letters, Kind::letter);

    if (kind(at) == Kind::number) return at + 1;

    const std::size_t marks = value(at) == ' ' && kind(at + 1) == Kind::other ? at + 1 : at;
    if (kind(marks) == Kind::other) return skip(skip(marks, Kind::other), Kind::newline);

    return end_of_spaces(at);
  }

 private:
  Kind kind(std::size_t at) const { return characters_[at].kind; }
  char32_t value(std::size_t at) const { return characters_[at].value; }

  std::size_t skip(std::size_t at, Kind wanted) const {
    while (kind(at) == wanted) ++at;
    return at;
  }

  // Unicode folds case, so the long s (U+017F) counts as an s.
  char32_t folded(std::size_t at) const {
    const char32_t c = value(at);
    if (c >= 'A' && c <= 'Z') return c + ('a' - 'A');
    return c == 0x17F ? U's' : c;
  }

  // Length of 's, 't, 're, 've, 'm, 'll, 'd at `at`; 0: none.
  std::size_t contraction(std::size_t at) const {
    if (value(at) != '\'' || at_end(at) || at_end(at + 1)) return 0;
    const char32_t first = folded(at + 1);
    if (first == 's' || first == 't' || first == 'm' || first == 'd') return 2;
    if (at_end(at + 2)) return 0;
    const char32_t second = folded(at + 2);
    const bool found =
        (first == 'r' && second == 'e') || (first == 'v' && second == 'e') || (first == 'l' && second == 'l');
    return found ? 3 : 0;
  }

  // In a run of white space: up to its last line break if it has one; all of it at the end of the text; else all but
  // the last one, which leads the next word.
  std::size_t end_of_spaces(std::size_t at) const {
    std::size_t end = at;
    std::size_t after_break = at;
    for (; kind(end) == Kind::space || kind(end) == Kind::newline; ++end) {
      if (kind(end) == Kind::newline) after_break = end + 1;
    }
    if (after_break > at) return after_break;
    return at_end(end) || end - at == 1 ? end : end - 1;
  }

  std::vector<Character> characters_;
};

}  // namespace

std::vector<std::string_view> qwen3_words(std::string_view text) {
  const Scanner scanner(text);
  std::vector<std::string_view> words;
  for (std::size_t at = 0; !scanner.at_end(at);) {
    const std::size_t end = scanner.end_of_word(at);
    words.push_back(text.substr(scanner.offset(at), scanner.offset(end) - scanner.offset(at)));
    at = end;
  }
  return words;
}

}  // namespace lathe::text
