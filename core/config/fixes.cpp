#include "core/config/fixes.h"

namespace lathe::config {

namespace {

constexpr TextId kTurnOn = LATHE_TEXT("fix.turn_on", "turn {} on");
constexpr TextId kTurnOff = LATHE_TEXT("fix.turn_off", "turn {} off");
constexpr TextId kSetTo = LATHE_TEXT("fix.set_to", "set {} to {}");
constexpr TextId kLeaveOut = LATHE_TEXT("fix.leave_out", "leave {} out");

}  // namespace

Fix turn_on(std::string_view flag) {
  return {message(kTurnOn, flag), {{std::string(flag), "true"}}};
}

Fix turn_off(std::string_view flag) {
  return {message(kTurnOff, flag), {{std::string(flag), "false"}}};
}

Fix set_to(std::string_view option, const std::string& value) {
  return {message(kSetTo, option, value), {{std::string(option), value}}};
}

Fix leave_out(std::string_view option) {
  return {message(kLeaveOut, option), {{std::string(option), ""}}};
}

}  // namespace lathe::config
