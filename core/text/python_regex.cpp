#include "core/text/python_regex.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "core/base/error.h"
#include "core/base/format.h"

namespace lathe::text {

struct PythonRegex::Code {
  explicit Code(pcre2_code* compiled) : handle(compiled) {}
  ~Code() { pcre2_code_free(handle); }
  Code(const Code&) = delete;
  Code& operator=(const Code&) = delete;

  pcre2_code* handle;
};

namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
bool is_hex(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

// Thrown inside this file alone: the reason why Python would not take the pattern.
struct Refused {
  std::string reason;
};

// Python's syntax to PCRE2's, from left to right. Only what differs is looked at; the rest PCRE2 judges.
class Translator {
 public:
  explicit Translator(std::string_view pattern) : pattern_(pattern) {}

  std::string run() {
    while (at_ < pattern_.size()) {
      const char c = pattern_[at_];
      if (c == '\\') {
        escape();
      } else if (in_set_) {
        in_set();
      } else if (c == '[') {
        open_set();
      } else if (c == '(') {
        group();
      } else if (c == '{') {
        repeat();
      } else {
        copy(1);
      }
    }
    return std::move(out_);
  }

 private:
  char ahead(std::size_t n) const { return at_ + n < pattern_.size() ? pattern_[at_ + n] : '\0'; }
  void copy(std::size_t count) {
    out_ += pattern_.substr(at_, count);
    at_ += count;
  }
  [[noreturn]] void refuse(std::string_view what) const { throw Refused{format("{} at position {}", what, at_)}; }

  // The escapes of Python's re; other letters are errors there and often something else in PCRE2.
  void escape() {
    const char c = ahead(1);
    if (at_ + 1 >= pattern_.size()) refuse("bad escape (end of pattern)");
    if (c == 'x' || c == 'u' || c == 'U') return code_point(c == 'x' ? 2 : c == 'u' ? 4 : 8);
    if (c == 'N') refuse("named characters (\\N{...}) are not supported");
    const std::string_view known = in_set_ ? "abfnrtvdDsSwW" : "AbBdDsSwWZafnrtv";
    if (is_letter(c) && known.find(c) == std::string_view::npos) refuse(format("bad escape \\{}", std::string(1, c)));
    if (c == 'Z' || c == 'v') {
      out_ += c == 'Z' ? "\\z" : "\\x0b";
      at_ += 2;
    } else {
      copy(2);
    }
  }

  void code_point(std::size_t digits) {
    for (std::size_t i = 0; i < digits; ++i) {
      if (!is_hex(ahead(2 + i))) refuse(format("incomplete escape \\{}", std::string(1, ahead(1))));
    }
    out_ += "\\x{";
    out_ += pattern_.substr(at_ + 2, digits);
    out_ += '}';
    at_ += 2 + digits;
  }

  void open_set() {
    in_set_ = true;
    copy(ahead(1) == '^' ? 2 : 1);
    if (ahead(0) == ']') copy(1);  // a first ']' is a member
  }

  void in_set() {
    if (ahead(0) == ']') in_set_ = false;
    if (ahead(0) == '[') out_ += '\\';  // no POSIX classes in Python
    copy(1);
  }

  void group() {
    if (ahead(1) == '*') refuse("nothing to repeat");  // PCRE2's verbs
    if (ahead(1) != '?') return copy(1);
    constexpr std::array<std::string_view, 9> kKnown = {":", "P<", "P=", "=", "!", "<=", "<!", "#", ">"};
    const std::string_view rest = pattern_.substr(at_ + 2);
    for (const std::string_view start : kKnown) {
      if (rest.starts_with(start)) return comment_or(start);
    }
    const bool conditional = rest.starts_with('(') && (is_letter(ahead(3)) || ahead(3) == '_' || is_digit(ahead(3)));
    if (conditional) return copy(3);
    flags(rest);
  }

  // (?i) only at the start, (?i:…) anywhere.
  void flags(std::string_view rest) {
    std::size_t count = 0;
    while (count < rest.size() && std::string_view("imsx-").find(rest[count]) != std::string_view::npos) ++count;
    const char after = count < rest.size() ? rest[count] : '\0';
    if (count == 0 || (after != ')' && after != ':')) refuse("unknown or unsupported extension (?...");
    if (after == ':') return copy(2 + count);
    if (rest.substr(0, count).find('-') != std::string_view::npos) refuse("missing :");
    if (at_ != start_) refuse("global flags not at the start of the expression");
    copy(2 + count + 1);
    start_ = at_;
  }

  // What stands in a comment is not part of the pattern.
  void comment_or(std::string_view start) {
    if (start != "#") return copy(2 + start.size());
    const std::size_t end = pattern_.find(')', at_);
    if (end == std::string_view::npos) refuse("missing ), unterminated comment");
    at_ = end + 1;
  }

  // {,n} and {,}: from zero on.
  void repeat() {
    std::size_t end = 2;
    while (is_digit(ahead(end))) ++end;
    if (ahead(1) != ',' || ahead(end) != '}') return copy(1);
    out_ += "{0";
    ++at_;
    copy(end);
  }

  std::string_view pattern_;
  std::string out_;
  std::size_t at_ = 0;
  std::size_t start_ = 0;  // after the flags that lead the pattern
  bool in_set_ = false;
};

std::string message_of(int code) {
  std::array<PCRE2_UCHAR, 256> text = {};
  pcre2_get_error_message(code, text.data(), text.size());
  return reinterpret_cast<const char*>(text.data());
}

}  // namespace

PythonRegex::PythonRegex(std::string pattern, std::shared_ptr<const Code> code)
    : pattern_(std::move(pattern)), code_(std::move(code)) {}

PythonRegex::Compiled PythonRegex::compile(std::string_view pattern) {
  std::string translated;
  try {
    translated = Translator(pattern).run();
  } catch (const Refused& refused) {
    return {std::nullopt, refused.reason};
  }
  const std::unique_ptr<pcre2_compile_context, decltype(&pcre2_compile_context_free)> context(
      pcre2_compile_context_create(nullptr), &pcre2_compile_context_free);
  pcre2_set_newline(context.get(), PCRE2_NEWLINE_LF);  // what '.' and '$' mind in Python
  int code = 0;
  PCRE2_SIZE offset = 0;
  pcre2_code* compiled = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(translated.data()), translated.size(),
                                       PCRE2_UTF | PCRE2_UCP, &code, &offset, context.get());
  if (compiled == nullptr) return {std::nullopt, message_of(code)};
  return {PythonRegex(std::string(pattern), std::make_shared<const Code>(compiled)), {}};
}

bool PythonRegex::full_match(std::string_view subject) const {
  const std::unique_ptr<pcre2_match_data, decltype(&pcre2_match_data_free)> data(
      pcre2_match_data_create_from_pattern(code_->handle, nullptr), &pcre2_match_data_free);
  const int result = pcre2_match(code_->handle, reinterpret_cast<PCRE2_SPTR>(subject.data()), subject.size(), 0,
                                 PCRE2_ANCHORED | PCRE2_ENDANCHORED, data.get(), nullptr);
  if (result == PCRE2_ERROR_NOMATCH) return false;
  if (result < 0) {
    throw Error(ErrorKind::settings,
                format("the pattern '{}' cannot be tried on '{}': {}", pattern_, subject, message_of(result)));
  }
  return true;
}

}  // namespace lathe::text
