#pragma once

#include <optional>
#include <string_view>

#include "core/base/message.h"
#include "core/config/schema.h"
#include "core/config/settings.h"

namespace lathe::config {

// What is wrong with a value of the right type: out of its range, not finite, not one of the choices. `shown` is the
// name that the user wrote. Unset values are never wrong.
std::optional<Message> value_problem(const Option& option, std::string_view shown, const Value& value);

}  // namespace lathe::config
