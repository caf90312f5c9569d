#include "core/config/utf8.h"

#include "core/base/format.h"

namespace lathe::config {

DecodedCharacter decode_utf8(std::string_view text) {
  const auto first = static_cast<unsigned char>(text.front());
  if (first < 0x80) return {first, 1, true};
  const std::size_t bytes = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < bytes) return {};
  char32_t code = first & (0xffu >> (bytes + 1));
  for (std::size_t i = 1; i < bytes; ++i) {
    const auto next = static_cast<unsigned char>(text[i]);
    if ((next & 0xc0) != 0x80) return {};
    code = code << 6 | (next & 0x3fu);
  }
  const bool overlong = (bytes == 3 && code < 0x800) || (bytes == 4 && code < 0x10000);
  if (overlong || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) return {};
  return {code, bytes, true};
}

std::optional<std::size_t> first_invalid_utf8(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const DecodedCharacter next = decode_utf8(text.substr(at));
    if (!next.valid) return at;
    at += next.bytes;
  }
  return std::nullopt;
}

bool append_utf8(std::string& out, char32_t code) {
  if (code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) return false;
  const auto tail = [&](int shift) { out += static_cast<char>(0x80 | (code >> shift & 0x3f)); };
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xc0 | code >> 6);
    tail(0);
  } else if (code < 0x10000) {
    out += static_cast<char>(0xe0 | code >> 12);
    tail(6);
    tail(0);
  } else {
    out += static_cast<char>(0xf0 | code >> 18);
    tail(12);
    tail(6);
    tail(0);
  }
  return true;
}

std::string one_line(std::string_view text, std::size_t longest) {
  std::string out;
  while (!text.empty()) {
    if (out.size() >= longest) return out + "…";
    const DecodedCharacter next = decode_utf8(text);
    const bool shown = next.valid && next.code >= 0x20 && next.code != 0x7f;
    out += shown ? std::string(text.substr(0, next.bytes))
                 : format("\\x{:02x}", static_cast<std::int64_t>(static_cast<unsigned char>(text[0])));
    text.remove_prefix(next.bytes);
  }
  return out;
}

std::string control_character(std::string_view text) {
  for (const char c : text) {
    const auto code = static_cast<unsigned char>(c);
    if (c == '\t') return "TAB";
    if (c == '\n' || c == '\r') return "line break";
    if (code < 0x20 || code == 0x7f) return format("character 0x{:02x}", static_cast<std::int64_t>(code));
  }
  return {};
}

}  // namespace lathe::config
