#include "core/dataset/json_members.h"

#include <nlohmann/json.hpp>

namespace lathe::dataset {

using nlohmann::json;

bool for_each_member(std::string_view text, const std::function<void(const std::string&, const json&)>& take) {
  bool is_object = false;
  std::string key;
  // The parser's callback sees every value as it is finished; members of the root have depth 1 and need not be kept.
  const auto callback = [&](int depth, json::parse_event_t event, json& parsed) {
    using Event = json::parse_event_t;
    if (depth == 0) is_object = is_object || event == Event::object_start;
    if (depth != 1 || !is_object) return true;
    if (event == Event::key) key = parsed.get_ref<const std::string&>();
    if (event != Event::object_end && event != Event::array_end && event != Event::value) return true;
    take(key, parsed);
    return false;
  };
  [[maybe_unused]] const json nothing_is_left = json::parse(text, callback);
  return is_object;
}

}  // namespace lathe::dataset
