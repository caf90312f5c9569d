// How Python writes values, and the key=value lists of the reference.
#include <algorithm>
#include <charconv>
#include <cmath>

#include "core/config/python_literal.h"
#include "core/config/utf8.h"

namespace lathe::config {

namespace {

constexpr TextId kNoPair = LATHE_TEXT("args.no_pair", "{}: '{}' is not of the form key=value");
constexpr TextId kTwice = LATHE_TEXT("args.key_twice", "{}: '{}' is given twice; the last one counts");
constexpr TextId kNoLiteral =
    LATHE_TEXT("args.no_literal",
               "{}: the value of '{}' must be in Python's notation (a number, 'text', True, None, a tuple), not {}");

// Code points that repr() escapes though they are no control characters: spaces, formats, separators, private use.
// Unassigned code points, which Python escapes too, are left as they are.
bool is_printable(char32_t c) {
  struct Range {
    char32_t first, last;
  };
  constexpr Range kHidden[] = {
      {0x7f, 0xa0},     {0xad, 0xad},     {0x600, 0x605},   {0x61c, 0x61c},   {0x6dd, 0x6dd},     {0x70f, 0x70f},
      {0x1680, 0x1680}, {0x180e, 0x180e}, {0x2000, 0x200f}, {0x2028, 0x202f}, {0x205f, 0x206f},   {0x3000, 0x3000},
      {0xd800, 0xf8ff}, {0xfeff, 0xfeff}, {0xfff0, 0xfffb}, {0xfffe, 0xffff}, {0xe0000, 0xe01ef}, {0xf0000, 0x10ffff}};
  constexpr Range kShown = {0xe0100, 0xe01ef};  // variation selectors
  if (c < 0x20) return false;
  if (c >= kShown.first && c <= kShown.last) return true;
  return std::ranges::none_of(kHidden, [c](const Range& range) { return c >= range.first && c <= range.last; });
}

std::string hex(char32_t c, int digits) {
  std::string text(static_cast<std::size_t>(digits), '0');
  for (std::size_t i = text.size(); i-- > 0; c >>= 4) text[i] = "0123456789abcdef"[c & 15];
  return text;
}

std::string escaped(char32_t c) {
  if (c == '\n') return "\\n";
  if (c == '\r') return "\\r";
  if (c == '\t') return "\\t";
  if (c < 0x100) return "\\x" + hex(c, 2);
  if (c < 0x10000) return "\\u" + hex(c, 4);
  return "\\U" + hex(c, 8);
}

template <class Items, class Write>
std::string joined(const Items& items, Write write) {
  std::string text;
  for (const auto& item : items) text += (text.empty() ? "" : ", ") + write(item);
  return text;
}

}  // namespace

std::string python_repr(double number) {
  if (std::isnan(number)) return "nan";
  if (std::isinf(number)) return number < 0 ? "-inf" : "inf";
  char buffer[32];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, number, std::chars_format::scientific).ptr;
  std::string digits;
  std::string_view written(buffer, static_cast<std::size_t>(end - buffer));
  const std::string sign = written.starts_with('-') ? "-" : "";
  if (!sign.empty()) written.remove_prefix(1);
  const std::size_t e = written.find('e');
  for (const char c : written.substr(0, e)) {
    if (c != '.') digits += c;
  }
  std::string_view power = written.substr(e + 1);
  if (power.starts_with('+')) power.remove_prefix(1);
  int exponent = 0;
  std::from_chars(power.data(), power.data() + power.size(), exponent);

  // float.__repr__ ('r' format): exponents from -4 to 15 are written out.
  if (exponent < -4 || exponent >= 16) {
    std::string magnitude = std::to_string(std::abs(exponent));
    if (magnitude.size() < 2) magnitude.insert(0, "0");
    const std::string mantissa = digits.size() > 1 ? digits.substr(0, 1) + "." + digits.substr(1) : digits;
    return sign + mantissa + (exponent < 0 ? "e-" : "e+") + magnitude;
  }
  if (exponent < 0) return sign + "0." + std::string(static_cast<std::size_t>(-exponent - 1), '0') + digits;
  const auto whole = static_cast<std::size_t>(exponent) + 1;
  if (digits.size() <= whole) return sign + digits + std::string(whole - digits.size(), '0') + ".0";
  return sign + digits.substr(0, whole) + "." + digits.substr(whole);
}

std::string python_repr(const std::string& text) {
  const bool single = text.find('\'') != std::string::npos;
  const char quote = single && text.find('"') == std::string::npos ? '"' : '\'';
  std::string out(1, quote);
  for (std::string_view rest = text; !rest.empty();) {
    const DecodedCharacter next = decode_utf8(rest);
    if (next.code == '\\' || next.code == static_cast<char32_t>(quote)) {
      out += {'\\', static_cast<char>(next.code)};
    } else if (next.valid && is_printable(next.code)) {
      out += rest.substr(0, next.bytes);
    } else {
      out += escaped(next.valid ? next.code : 0xdc00 + static_cast<unsigned char>(rest[0]));  // surrogateescape
    }
    rest.remove_prefix(next.bytes);
  }
  return out + quote;
}

std::string python_repr(const PythonValue& value) {
  const auto repr = [](const PythonValue& item) { return python_repr(item); };
  switch (value.kind) {
    case PythonValue::Kind::none:
      return "None";
    case PythonValue::Kind::boolean:
      return value.boolean ? "True" : "False";
    case PythonValue::Kind::integer:
      return std::to_string(value.integer);
    case PythonValue::Kind::real:
      return python_repr(value.real);
    case PythonValue::Kind::text:
      return python_repr(value.text);
    case PythonValue::Kind::list:
      return "[" + joined(value.items, repr) + "]";
    case PythonValue::Kind::tuple:
      return "(" + joined(value.items, repr) + (value.items.size() == 1 ? ",)" : ")");
    case PythonValue::Kind::dict:
      break;
  }
  std::string text;
  for (std::size_t i = 0; i + 1 < value.items.size(); i += 2) {
    text += (i > 0 ? ", " : "") + python_repr(value.items[i]) + ": " + python_repr(value.items[i + 1]);
  }
  return "{" + text + "}";
}

std::string python_str(const PythonValue& value) {
  return value.kind == PythonValue::Kind::text ? value.text : python_repr(value);
}

std::string python_str(const Value& value) {
  struct Writer {
    std::string operator()(std::monostate) const { return "None"; }
    std::string operator()(bool v) const { return v ? "True" : "False"; }
    std::string operator()(std::int64_t v) const { return std::to_string(v); }
    std::string operator()(double v) const { return python_repr(v); }
    std::string operator()(const std::string& v) const { return v; }
    std::string operator()(const Steps& v) const { return v.is_ratio ? python_repr(v.ratio) : std::to_string(v.steps); }
    std::string operator()(const std::vector<std::string>& v) const {
      return "[" + joined(v, [](const std::string& item) { return python_repr(item); }) + "]";
    }
    std::string operator()(const std::vector<double>& v) const {
      return "[" + joined(v, [](double item) { return python_repr(item); }) + "]";
    }
  };
  return std::visit(Writer{}, value);
}

std::vector<KeyValue> parse_key_values(const Settings& settings, std::string_view option, Findings& findings) {
  std::vector<KeyValue> pairs;
  for (const std::string& item : settings.list(option)) {
    const std::size_t at = item.find('=');
    if (at == std::string::npos || at == 0) {
      findings.error({std::string(option)}, message(kNoPair, option, item));
      continue;
    }
    KeyValue pair{item.substr(0, at), item.substr(at + 1), {}};
    const auto earlier = std::ranges::find(pairs, pair.key, &KeyValue::key);
    if (earlier == pairs.end()) {
      pairs.push_back(std::move(pair));
      continue;
    }
    findings.warning({std::string(option)}, message(kTwice, option, pair.key));
    *earlier = std::move(pair);
  }
  return pairs;
}

std::vector<KeyValue> parse_literals(const Settings& settings, std::string_view option, Findings& findings) {
  std::vector<KeyValue> good;
  for (KeyValue& pair : parse_key_values(settings, option, findings)) {
    if (std::optional<PythonValue> value = parse_python_literal(pair.text)) {
      pair.value = std::move(*value);
      good.push_back(std::move(pair));
    } else {
      findings.error({std::string(option)}, message(kNoLiteral, option, pair.key, pair.text));
    }
  }
  return good;
}

}  // namespace lathe::config
