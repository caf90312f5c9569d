#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// Texts are UTF-8 everywhere. These are the few Unicode rules that captions and tokenizers need, as Python and
// Unicode define them, independent of the locale.
namespace lathe::text {

// Byte offset of the first malformed sequence (cut short, overlong, surrogate, above U+10FFFF). Nothing: valid UTF-8.
std::optional<std::size_t> first_invalid_utf8(std::string_view bytes);

// Throws Error(dataset) with `what` ("the caption file 'a.txt'") and the offset where the bytes are no valid UTF-8.
void require_utf8(std::string_view bytes, std::string_view what);

// One code point and the bytes it takes. A malformed byte decodes to U+FFFD with size 1. `at` < text.size().
struct CodePoint {
  char32_t value = 0;
  std::size_t size = 1;
};
CodePoint decode(std::string_view text, std::size_t at);

// Unicode's White_Space property.
bool is_white_space(char32_t c);

// Python's str.strip() and str.split(separator); the parts point into `text`. The separator is not empty.
std::string_view python_strip(std::string_view text);
std::vector<std::string_view> python_split(std::string_view text, std::string_view separator);
// Python's str.replace(); an empty `from` changes nothing.
std::string replace_all(std::string_view text, std::string_view from, std::string_view to);

}  // namespace lathe::text
