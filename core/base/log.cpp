#include "core/base/log.h"

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include "core/base/paths.h"

namespace lathe::log {

namespace {

spdlog::level::level_enum to_spdlog(Level level) {
  switch (level) {
    case Level::trace:
      return spdlog::level::trace;
    case Level::debug:
      return spdlog::level::debug;
    case Level::info:
      return spdlog::level::info;
    case Level::warning:
      return spdlog::level::warn;
    case Level::error:
      return spdlog::level::err;
    case Level::off:
      return spdlog::level::off;
  }
  return spdlog::level::info;
}

struct State {
  std::mutex mutex;
  std::shared_ptr<spdlog::logger> logger;                   // guarded by mutex
  std::function<void(Level, const std::string&)> listener;  // guarded by mutex
  std::atomic<Level> level = Level::warning;
};

State& state() {
  static State instance;
  return instance;
}

std::shared_ptr<spdlog::logger> make_logger(const std::filesystem::path& file, bool simple) {
  std::vector<spdlog::sink_ptr> sinks = {std::make_shared<spdlog::sinks::stderr_color_sink_mt>()};
  if (!file.empty()) sinks.push_back(std::make_shared<spdlog::sinks::basic_file_sink_mt>(to_utf8(file)));
  auto logger = std::make_shared<spdlog::logger>("lathe", sinks.begin(), sinks.end());
  logger->set_level(spdlog::level::trace);
  logger->set_pattern(simple ? "%l: %v" : "%H:%M:%S.%e %^%l%$ %v");
  logger->flush_on(spdlog::level::warn);
  return logger;
}

}  // namespace

void set_up(Level level, const std::filesystem::path& file, bool simple) {
  State& s = state();
  auto logger = make_logger(file, simple);
  const std::lock_guard lock(s.mutex);
  s.logger = std::move(logger);
  s.level = level;
}

Level level() {
  return state().level;
}

void set_listener(std::function<void(Level, const std::string&)> listener) {
  State& s = state();
  const std::lock_guard lock(s.mutex);
  s.listener = std::move(listener);
}

void write(Level level, std::string_view message) {
  State& s = state();
  if (level < s.level) return;
  const std::lock_guard lock(s.mutex);
  if (!s.logger) s.logger = make_logger({}, false);
  s.logger->log(to_spdlog(level), spdlog::string_view_t(message.data(), message.size()));
  if (s.listener) s.listener(level, std::string(message));
}

}  // namespace lathe::log
