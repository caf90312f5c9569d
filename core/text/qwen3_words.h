#pragma once

#include <string_view>
#include <vector>

namespace lathe::text {

// Cuts a text (UTF-8, NFC) into the words within which Qwen3's tokenizer merges; nothing is dropped. The rule is the
// regular expression of its tokenizer.json,
//   (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+
// with the Unicode 16 classes of the reference, whatever older version the system's library knows.
std::vector<std::string_view> qwen3_words(std::string_view text);

// That expression, to recognise it in a tokenizer.json.
extern const std::string_view kQwen3WordPattern;

}  // namespace lathe::text
