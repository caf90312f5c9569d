#include "core/config/python_literal.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <system_error>

#include "core/config/utf8.h"

namespace lathe::config {

namespace {

bool is_space(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

std::string_view trim(std::string_view text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

// Takes out the underscores that Python allows between digits; nullopt where one stands elsewhere.
std::optional<std::string> without_underscores(std::string_view text, bool (*digit)(char)) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '_') {
      plain += text[i];
    } else if (i == 0 || i + 1 == text.size() || !digit(text[i - 1]) || !digit(text[i + 1])) {
      return std::nullopt;
    }
  }
  return plain;
}

bool is_hex_digit(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

std::optional<std::int64_t> whole_number(std::string_view digits, int base) {
  std::int64_t number = 0;
  const auto [end, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), number, base);
  if (problem != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return number;
}

// Reads one literal from the front of a text. Every function returns nullopt where the text is no literal.
class LiteralReader {
 public:
  explicit LiteralReader(std::string_view text) : rest_(text) {}

  std::optional<PythonValue> whole_text() {
    std::optional<PythonValue> first = value(0);
    if (!first) return std::nullopt;
    skip_spaces();
    if (rest_.empty()) return first;
    PythonValue tuple{.kind = PythonValue::Kind::tuple};  // 0.9, 0.99
    tuple.items.push_back(std::move(*first));
    while (take(',')) {
      skip_spaces();
      if (rest_.empty()) return tuple;
      std::optional<PythonValue> next = value(0);
      if (!next) return std::nullopt;
      tuple.items.push_back(std::move(*next));
      skip_spaces();
    }
    return rest_.empty() ? std::optional(std::move(tuple)) : std::nullopt;
  }

 private:
  static constexpr int kDeepest = 50;

  void skip_spaces() {
    while (!rest_.empty() && is_space(rest_.front())) rest_.remove_prefix(1);
  }

  bool take(char c) {
    skip_spaces();
    if (rest_.empty() || rest_.front() != c) return false;
    rest_.remove_prefix(1);
    return true;
  }

  std::optional<PythonValue> value(int depth) {
    skip_spaces();
    if (rest_.empty() || depth > kDeepest) return std::nullopt;
    const char first = rest_.front();
    if (first == '(') return bracketed(depth, ')');
    if (first == '[') return bracketed(depth, ']');
    if (first == '{') return dict(depth);
    if (first == '\'' || first == '"') return text();
    if (is_digit(first) || first == '.' || first == '-' || first == '+') return number();
    return word();
  }

  // "(1, 2)", "[1, 2]"; "(1)" is 1 itself.
  std::optional<PythonValue> bracketed(int depth, char close) {
    rest_.remove_prefix(1);
    PythonValue made{.kind = close == ']' ? PythonValue::Kind::list : PythonValue::Kind::tuple};
    bool comma = true;
    while (!take(close)) {
      if (!comma) return std::nullopt;
      std::optional<PythonValue> item = value(depth + 1);
      if (!item) return std::nullopt;
      made.items.push_back(std::move(*item));
      comma = take(',');
    }
    if (close == ')' && made.items.size() == 1 && !comma) {
      PythonValue only = std::move(made.items.front());
      return only;
    }
    return made;
  }

  std::optional<PythonValue> dict(int depth) {
    rest_.remove_prefix(1);
    PythonValue made{.kind = PythonValue::Kind::dict};
    bool comma = true;
    while (!take('}')) {
      if (!comma) return std::nullopt;
      std::optional<PythonValue> key = value(depth + 1);
      if (!key || !take(':')) return std::nullopt;
      std::optional<PythonValue> held = value(depth + 1);
      if (!held) return std::nullopt;
      made.items.push_back(std::move(*key));
      made.items.push_back(std::move(*held));
      comma = take(',');
    }
    return made;
  }

  // True, None, and texts with a prefix: r'\d', u"x".
  std::optional<PythonValue> word() {
    std::size_t length = 0;
    while (length < rest_.size() && (std::isalnum(static_cast<unsigned char>(rest_[length])) || rest_[length] == '_')) {
      ++length;
    }
    const std::string_view name = rest_.substr(0, length);
    const bool quoted = length < rest_.size() && (rest_[length] == '\'' || rest_[length] == '"');
    rest_.remove_prefix(length);
    if (quoted && (name == "r" || name == "R")) return text(true);
    if (quoted && (name == "u" || name == "U")) return text();
    if (name == "None") return PythonValue{};
    if (name == "True" || name == "False") {
      return PythonValue{.kind = PythonValue::Kind::boolean, .boolean = name == "True"};
    }
    return std::nullopt;
  }

  std::optional<PythonValue> number();
  std::optional<PythonValue> text(bool raw = false);
  bool escape(std::string& out);

  std::string_view rest_;
};

std::optional<PythonValue> LiteralReader::number() {
  const bool negative = rest_.front() == '-';
  if (negative || rest_.front() == '+') {
    rest_.remove_prefix(1);
    skip_spaces();
  }
  std::size_t length = 0;
  while (length < rest_.size()) {
    const char c = rest_[length];
    const bool sign = (c == '-' || c == '+') && length > 0 && (rest_[length - 1] == 'e' || rest_[length - 1] == 'E') &&
                      !rest_.starts_with("0x") && !rest_.starts_with("0X");
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '.' && c != '_' && !sign) break;
    ++length;
  }
  std::string_view token = rest_.substr(0, length);
  rest_.remove_prefix(length);
  if (token.empty() || !(is_digit(token[0]) || token[0] == '.')) return std::nullopt;  // keeps inf and nan out

  PythonValue made{.kind = PythonValue::Kind::integer};
  int base = 10;
  if (token.size() > 2 && token[0] == '0') {
    const char kind = static_cast<char>(token[1] | 0x20);
    base = kind == 'x' ? 16 : kind == 'o' ? 8 : kind == 'b' ? 2 : 10;
    if (base != 10) token.remove_prefix(2);
  }
  const std::optional<std::string> plain = without_underscores(token, base == 16 ? is_hex_digit : is_digit);
  if (!plain || plain->empty()) return std::nullopt;
  if (const auto whole = whole_number(*plain, base)) {
    const bool leading_zero = base == 10 && plain->size() > 1 && (*plain)[0] == '0' && *whole != 0;
    if (leading_zero) return std::nullopt;  // 007 is an error in Python
    made.integer = negative ? -*whole : *whole;
    return made;
  }
  if (base != 10 || plain->find_first_of(".eE") == std::string::npos) return std::nullopt;
  const std::optional<double> real = parse_python_float(*plain);
  if (!real) return std::nullopt;
  made.kind = PythonValue::Kind::real;
  made.real = negative ? -*real : *real;
  return made;
}

// One text or several beside each other, which Python joins.
std::optional<PythonValue> LiteralReader::text(bool raw) {
  PythonValue made{.kind = PythonValue::Kind::text};
  while (true) {
    const char quote = rest_.front();
    const std::string triple(3, quote);
    const bool long_text = rest_.starts_with(triple);
    const std::string_view end = long_text ? std::string_view(triple) : std::string_view(triple).substr(0, 1);
    rest_.remove_prefix(end.size());
    while (!rest_.starts_with(end)) {
      if (rest_.empty() || (!long_text && rest_.front() == '\n')) return std::nullopt;
      if (rest_.front() == '\\' && !raw) {
        if (!escape(made.text)) return std::nullopt;
        continue;
      }
      const std::size_t count = rest_.front() == '\\' && rest_.size() > 1 ? 2 : 1;  // raw: \' does not end the text
      made.text += rest_.substr(0, count);
      rest_.remove_prefix(count);
    }
    rest_.remove_prefix(end.size());
    skip_spaces();
    if (rest_.empty() || (rest_.front() != '\'' && rest_.front() != '"')) return made;
    raw = false;
  }
}

// Reads one escape of a text. An unknown one stays as it is, as in Python.
bool LiteralReader::escape(std::string& out) {
  if (rest_.size() < 2) return false;
  const char kind = rest_[1];
  rest_.remove_prefix(2);
  constexpr std::string_view kNames = "\n\\'\"abfnrtv";
  constexpr std::string_view kMeant = "?\\'\"\a\b\f\n\r\t\v";
  if (kind == '\n') return true;
  if (const std::size_t at = kNames.find(kind); at != std::string_view::npos) {
    out += kMeant[at];
    return true;
  }
  std::size_t digits = kind == 'x' ? 2 : kind == 'u' ? 4 : kind == 'U' ? 8 : 0;
  int base = 16;
  if (kind >= '0' && kind <= '7') {
    base = 8;
    digits = 1;
    while (digits < 3 && digits - 1 < rest_.size() && rest_[digits - 1] >= '0' && rest_[digits - 1] <= '7') ++digits;
    const std::string octal = std::string(1, kind) + std::string(rest_.substr(0, digits - 1));
    rest_.remove_prefix(digits - 1);
    append_utf8(out, static_cast<char32_t>(*whole_number(octal, base)));
    return true;
  }
  if (digits == 0) {
    out += {'\\', kind};
    return true;
  }
  if (rest_.size() < digits || !std::ranges::all_of(rest_.substr(0, digits), is_hex_digit)) return false;
  const std::int64_t code = *whole_number(rest_.substr(0, digits), base);
  rest_.remove_prefix(digits);
  return append_utf8(out, static_cast<char32_t>(code));
}

}  // namespace

std::optional<double> PythonValue::number() const {
  if (kind == Kind::integer) return static_cast<double>(integer);
  if (kind == Kind::real) return real;
  return std::nullopt;
}

std::optional<PythonValue> parse_python_literal(std::string_view text) {
  return LiteralReader(text).whole_text();
}

std::optional<std::int64_t> parse_python_int(std::string_view text) {
  text = trim(text);
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  if (text.empty() || !is_digit(text.front())) return std::nullopt;
  const std::optional<std::string> plain = without_underscores(text, is_digit);
  if (!plain) return std::nullopt;
  return whole_number((negative ? "-" : "") + *plain, 10);
}

std::optional<double> parse_python_float(std::string_view text) {
  text = trim(text);
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  const std::optional<std::string> plain = without_underscores(text, is_digit);
  if (!plain || plain->empty() || plain->front() == '-' || plain->front() == '+') return std::nullopt;
  double number = 0.0;
  const char* last = plain->data() + plain->size();
  const auto [end, problem] = std::from_chars(plain->data(), last, number);
  if (problem != std::errc() || end != last) return std::nullopt;
  return negative ? -number : number;
}

}  // namespace lathe::config
