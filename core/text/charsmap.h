#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lathe::text {

// SentencePiece's precompiled normalisation: a Darts-clone double array from strings to their replacements. The blob is
// u32 size of the array in bytes, the array (u32 units), the replacements (NUL-terminated), all little-endian.
class Charsmap {
 public:
  // Throws Error(format) for a blob that does not hold what it says.
  explicit Charsmap(std::string_view blob);

  // Replaces as Hugging Face's `tokenizers` does: a grapheme cluster under 6 bytes that starts with an entry becomes
  // the replacement of the shortest such entry; else each character alone does. `utf8` is valid.
  std::string normalize(std::string_view utf8) const;

 private:
  // The replacement of the shortest entry that `text` starts with.
  std::optional<std::string_view> replacement(std::string_view text) const;

  std::vector<std::uint32_t> units_;
  std::string replacements_;
};

}  // namespace lathe::text
