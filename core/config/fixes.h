#pragma once

#include <string>
#include <string_view>

#include "core/config/diagnostic.h"

// What resolves a finding, for the front ends to offer.
namespace lathe::config {

Fix turn_on(std::string_view flag);
Fix turn_off(std::string_view flag);
Fix set_to(std::string_view option, const std::string& value);
Fix leave_out(std::string_view option);  // back to the default

}  // namespace lathe::config
