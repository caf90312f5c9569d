#include "core/text/charsmap.h"

#include <utf8proc.h>

#include "core/base/error.h"
#include "core/base/format.h"
#include "core/text/code_points.h"
#include "core/text/utf8.h"

namespace lathe::text {

namespace {

std::uint32_t read_u32(std::string_view bytes, std::size_t at) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    value |= std::uint32_t{static_cast<unsigned char>(bytes[at + i])} << (8 * i);
  }
  return value;
}

// The fields of a unit (Darts-clone).
std::uint32_t label(std::uint32_t unit) {
  return unit & 0x800000FFu;
}
std::uint32_t offset(std::uint32_t unit) {
  return (unit >> 10) << ((unit & 0x200u) >> 6);
}
bool has_leaf(std::uint32_t unit) {
  return ((unit >> 8) & 1u) != 0;
}
std::uint32_t leaf_value(std::uint32_t unit) {
  return unit & 0x7FFFFFFFu;
}

// Marks of Unicode 15 to 16, which the reference knows and utf8proc 2.8 does not.
constexpr CodePointRange kNewMarks[] = {{0x897, 0x897},     {0xCF3, 0xCF3},     {0xECE, 0xECE},     {0x10D69, 0x10D6D},
                                        {0x10EFC, 0x10EFF}, {0x11241, 0x11241}, {0x113B8, 0x113C0}, {0x113C2, 0x113C2},
                                        {0x113C5, 0x113C5}, {0x113C7, 0x113CA}, {0x113CC, 0x113D0}, {0x113D2, 0x113D2},
                                        {0x113E1, 0x113E2}, {0x11F00, 0x11F01}, {0x11F03, 0x11F03}, {0x11F34, 0x11F3A},
                                        {0x11F3E, 0x11F42}, {0x11F5A, 0x11F5A}, {0x13440, 0x13440}, {0x13447, 0x13455},
                                        {0x1611E, 0x1612F}, {0x1E08F, 0x1E08F}, {0x1E4EC, 0x1E4EF}, {0x1E5EE, 0x1E5EF}};
// Unassigned, but reserved for characters without a shape: clusters break around them (UAX #29, Control).
constexpr CodePointRange kReservedIgnorable[] = {{0x2065, 0x2065},   {0xFFF0, 0xFFF8},   {0xE0000, 0xE0000},
                                                 {0xE0002, 0xE001F}, {0xE0080, 0xE00FF}, {0xE01F0, 0xE0FFF}};

// A character that utf8proc breaks clusters at as Unicode 16 does at `c`.
utf8proc_int32_t stand_in(char32_t c) {
  if (lies_in(kNewMarks, c)) return 0x300;            // Extend
  if (lies_in(kReservedIgnorable, c)) return 0x200B;  // Control
  return static_cast<utf8proc_int32_t>(c);
}

// Bytes of the extended grapheme cluster at `at`.
std::size_t cluster_size(std::string_view text, std::size_t at) {
  CodePoint c = decode(text, at);
  std::size_t end = at + c.size;
  utf8proc_int32_t state = 0;
  while (end < text.size()) {
    const CodePoint next = decode(text, end);
    if (utf8proc_grapheme_break_stateful(stand_in(c.value), stand_in(next.value), &state)) {
      break;
    }
    c = next;
    end += c.size;
  }
  return end - at;
}

}  // namespace

Charsmap::Charsmap(std::string_view blob) {
  const std::size_t size = blob.size() >= 4 ? read_u32(blob, 0) : 0;
  if (size == 0 || size % 4 != 0 || size > blob.size() - 4) {
    throw Error(ErrorKind::format, format("the precompiled charsmap is damaged: {} bytes, of which {} should be its "
                                          "table",
                                          blob.size(), size));
  }
  units_.reserve(size / 4);
  for (std::size_t at = 4; at < 4 + size; at += 4) units_.push_back(read_u32(blob, at));
  replacements_ = std::string(blob.substr(4 + size));
}

std::optional<std::string_view> Charsmap::replacement(std::string_view text) const {
  std::size_t at = offset(units_[0]);
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    at ^= byte;
    if (byte == 0 || at >= units_.size() || label(units_[at]) != byte) return std::nullopt;
    const std::uint32_t unit = units_[at];
    at ^= offset(unit);
    if (at >= units_.size()) return std::nullopt;
    if (has_leaf(unit)) {
      const std::size_t begin = leaf_value(units_[at]);
      if (begin >= replacements_.size()) return std::nullopt;
      const std::size_t end = replacements_.find('\0', begin);
      return std::string_view(replacements_).substr(begin, end == std::string::npos ? end : end - begin);
    }
  }
  return std::nullopt;
}

std::string Charsmap::normalize(std::string_view utf8) const {
  std::string result;
  result.reserve(utf8.size());
  for (std::size_t at = 0; at < utf8.size();) {
    const std::size_t cluster = cluster_size(utf8, at);
    if (cluster < 6) {
      if (const auto replaced = replacement(utf8.substr(at, cluster))) {
        result += *replaced;
        at += cluster;
        continue;
      }
    }
    for (const std::size_t end = at + cluster; at < end;) {
      const std::string_view character = utf8.substr(at, decode(utf8, at).size);
      result += replacement(character).value_or(character);
      at += character.size();
    }
  }
  return result;
}

}  // namespace lathe::text
