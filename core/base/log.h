#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "core/base/format.h"

// Diagnostics for people who look for a fault. What a user should know goes out as a run event instead.
namespace lathe::log {

enum class Level { trace, debug, info, warning, error, off };

// Messages go to stderr (simple: no colour, no time) and, if given, to a file. May be called again.
void set_up(Level level, const std::filesystem::path& file = {}, bool simple = false);
Level level();
// A second listener (the window's log page, a test). Called on the thread that logs. Empty: none.
void set_listener(std::function<void(Level, const std::string&)> listener);

void write(Level level, std::string_view message);

template <class... A>
void debug(std::string_view pattern, A&&... a) {
  if (level() <= Level::debug) write(Level::debug, format(pattern, std::forward<A>(a)...));
}
template <class... A>
void info(std::string_view pattern, A&&... a) {
  if (level() <= Level::info) write(Level::info, format(pattern, std::forward<A>(a)...));
}
template <class... A>
void warning(std::string_view pattern, A&&... a) {
  if (level() <= Level::warning) write(Level::warning, format(pattern, std::forward<A>(a)...));
}
template <class... A>
void error(std::string_view pattern, A&&... a) {
  if (level() <= Level::error) write(Level::error, format(pattern, std::forward<A>(a)...));
}

}  // namespace lathe::log
