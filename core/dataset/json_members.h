#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace lathe::dataset {

// Hands over the members of the one JSON object that `text` holds, in the order of the text, also those with a key that
// came before. In time linear in the text, however many there are. Returns false if `text` holds no object. Throws
// nlohmann::json::exception if it is no JSON, and what `take` throws.
bool for_each_member(std::string_view text,
                     const std::function<void(const std::string& key, const nlohmann::json& value)>& take);

}  // namespace lathe::dataset
