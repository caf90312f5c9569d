#pragma once

#include <chrono>
#include <string>

namespace lathe {

// Seconds since it was made, on the monotonic clock.
class Stopwatch {
 public:
  double seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count(); }
  void restart() { start_ = std::chrono::steady_clock::now(); }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

double unix_seconds();                                 // now
std::string local_time(const char* strftime_pattern);  // "%Y%m%d%H%M%S"; now, local time
std::string utc_time_iso();                            // 2026-12-01T14:25:52Z

}  // namespace lathe
