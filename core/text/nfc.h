#pragma once

#include <string>
#include <string_view>

namespace lathe::text {

// Unicode NFC of valid UTF-8 with the data of Unicode 9, which Hugging Face's `tokenizers` has: marks that came later
// are neither reordered nor composed, whatever newer version the system's library knows.
std::string nfc(std::string_view utf8);

}  // namespace lathe::text
