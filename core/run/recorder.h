#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/base/clock.h"
#include "core/run/events.h"

namespace lathe::run {

// Hands every event to several sinks, in order.
class Tee : public EventSink {
 public:
  explicit Tee(std::vector<EventSink*> sinks) : sinks_(std::move(sinks)) {}
  void post(Event event) override;

 private:
  std::vector<EventSink*> sinks_;
};

// Passes events on and keeps what the last event of a run says: steps, first and last loss, counts of warnings by
// group.
class Summary : public EventSink {
 public:
  explicit Summary(EventSink& next) : next_(next) {}
  void post(Event event) override;
  void end(EndStatus status);
  const std::filesystem::path& last_checkpoint() const { return last_checkpoint_; }

 private:
  EventSink& next_;
  Stopwatch watch_;
  RunEnded ended_;
  bool has_loss_ = false;
  std::filesystem::path last_checkpoint_;
  std::map<std::string, std::int64_t> counts_;
};

}  // namespace lathe::run
