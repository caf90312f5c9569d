#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace lathe::text {

// Token ids of one text at a fixed length, and 1 where an id is of the text, 0 where it is padding.
struct TokenRow {
  std::vector<std::int32_t> ids;
  std::vector<std::int32_t> mask;

  bool operator==(const TokenRow&) const = default;
};

// Cuts `ids` to `length` and fills up with `pad_id` on the right. Where `end_id` is given (T5), the last id of a row
// that was cut is `end_id`; ids that fit are expected to end with it already.
TokenRow pad(std::vector<std::int32_t> ids, std::size_t length, std::int32_t pad_id,
             std::optional<std::int32_t> end_id = std::nullopt);

}  // namespace lathe::text
