#include "core/base/clock.h"

#include <array>
#include <ctime>

namespace lathe {

namespace {

std::string formatted(const char* pattern, bool local) {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
#ifdef _WIN32
  local ? localtime_s(&parts, &now) : gmtime_s(&parts, &now);
#else
  local ? localtime_r(&now, &parts) : gmtime_r(&now, &parts);
#endif
  std::array<char, 128> text{};
  return {text.data(), std::strftime(text.data(), text.size(), pattern, &parts)};
}

}  // namespace

double unix_seconds() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

std::string local_time(const char* strftime_pattern) {
  return formatted(strftime_pattern, true);
}

std::string utc_time_iso() {
  return formatted("%Y-%m-%dT%H:%M:%SZ", false);
}

}  // namespace lathe
