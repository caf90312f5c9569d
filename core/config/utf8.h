#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace lathe::config {

struct DecodedCharacter {
  char32_t code = 0;
  std::size_t bytes = 1;
  bool valid = false;  // false: the first byte begins no character
};

// The first character of `text`, which is not empty. Overlong forms and surrogates are not valid.
DecodedCharacter decode_utf8(std::string_view text);

// Byte offset of what is not UTF-8, or nullopt.
std::optional<std::size_t> first_invalid_utf8(std::string_view text);

// false, and nothing appended: no Unicode scalar value.
bool append_utf8(std::string& out, char32_t code);

// A text fit for one line of a message: control characters and bytes that are no UTF-8 as \x1b, at most `longest`
// bytes.
std::string one_line(std::string_view text, std::size_t longest = 200);

// Name of the first control character ("TAB", "line break", "character 0x08"), or empty.
std::string control_character(std::string_view text);

}  // namespace lathe::config
