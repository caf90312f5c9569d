#include "core/text/token_row.h"

#include <utility>

namespace lathe::text {

TokenRow pad(std::vector<std::int32_t> ids, std::size_t length, std::int32_t pad_id,
             std::optional<std::int32_t> end_id) {
  if (ids.size() > length) {
    ids.resize(length);
    if (end_id && length > 0) ids.back() = *end_id;
  }
  std::vector<std::int32_t> mask(ids.size(), 1);
  mask.resize(length, 0);
  ids.resize(length, pad_id);
  return {std::move(ids), std::move(mask)};
}

}  // namespace lathe::text
