#include "core/text/utf8.h"

#include <cstdint>

#include "core/base/error.h"
#include "core/base/format.h"

namespace lathe::text {

namespace {

// Python's str.isspace(): White_Space and the four information separators.
bool is_python_space(char32_t c) {
  return is_white_space(c) || (c >= 0x1C && c <= 0x1F);
}

// Start of the code point that ends at `end`.
std::size_t previous(std::string_view text, std::size_t end) {
  std::size_t at = end - 1;
  while (at > 0 && end - at < 4 && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) --at;
  return decode(text, at).size == end - at ? at : end - 1;
}

}  // namespace

// Table 3-7 of the Unicode standard: only the second byte has ranges that depend on the first.
CodePoint decode(std::string_view text, std::size_t at) {
  constexpr CodePoint kMalformed = {0xFFFD, 1};
  const auto byte = [&](std::size_t i) { return static_cast<std::uint32_t>(static_cast<unsigned char>(text[i])); };
  const std::uint32_t first = byte(at);
  if (first < 0x80) return {first, 1};
  const std::size_t size = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || at + size > text.size()) return kMalformed;
  char32_t value = first & (0x7Fu >> size);
  for (std::size_t i = 1; i < size; ++i) {
    if ((byte(at + i) & 0xC0) != 0x80) return kMalformed;
    value = (value << 6) | (byte(at + i) & 0x3F);
  }
  const bool overlong = (size == 3 && value < 0x800) || (size == 4 && value < 0x10000);
  const bool surrogate = value >= 0xD800 && value <= 0xDFFF;
  return overlong || surrogate || value > 0x10FFFF ? kMalformed : CodePoint{value, size};
}

std::optional<std::size_t> first_invalid_utf8(std::string_view bytes) {
  for (std::size_t at = 0; at < bytes.size();) {
    const CodePoint c = decode(bytes, at);
    if (c.size == 1 && c.value >= 0x80) return at;
    at += c.size;
  }
  return std::nullopt;
}

void require_utf8(std::string_view bytes, std::string_view what) {
  if (const auto at = first_invalid_utf8(bytes)) {
    throw Error(ErrorKind::dataset, format("{} is not valid UTF-8: byte 0x{:02x} at offset {}; save the text as UTF-8",
                                           what, static_cast<unsigned>(static_cast<unsigned char>(bytes[*at])), *at));
  }
}

bool is_white_space(char32_t c) {
  if (c < 0x80) return c == ' ' || (c >= 0x09 && c <= 0x0D);
  return c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 ||
         c == 0x202F || c == 0x205F || c == 0x3000;
}

std::string_view python_strip(std::string_view text) {
  while (!text.empty()) {
    const CodePoint c = decode(text, 0);
    if (!is_python_space(c.value)) break;
    text.remove_prefix(c.size);
  }
  while (!text.empty()) {
    const std::size_t last = previous(text, text.size());
    if (!is_python_space(decode(text, last).value)) break;
    text = text.substr(0, last);
  }
  return text;
}

std::vector<std::string_view> python_split(std::string_view text, std::string_view separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t found = text.find(separator);
    parts.push_back(text.substr(0, found));
    if (found == std::string_view::npos) return parts;
    text.remove_prefix(found + separator.size());
  }
}

std::string replace_all(std::string_view text, std::string_view from, std::string_view to) {
  if (from.empty()) return std::string(text);
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t found = text.find(from, at);
    result += text.substr(at, found - at);
    if (found == std::string_view::npos) break;
    result += to;
    at = found + from.size();
  }
  return result;
}

}  // namespace lathe::text
