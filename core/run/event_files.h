#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>

#include "core/run/events.h"

namespace lathe::run {

// Writes the run folder's events.jsonl. An event that the disk does not take is counted and logged once; it
// never stops the run.
class EventFile : public EventSink {
 public:
  explicit EventFile(const std::filesystem::path& path);
  ~EventFile() override;
  void post(Event event) override;
  std::uint64_t dropped() const;  // events that the disk did not take

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Writes TensorBoard event files with the names and the x axes of the reference's tracker (loss/current, loss/average,
// lr/<group>, loss/epoch_average …).
class TensorBoardFile : public EventSink {
 public:
  explicit TensorBoardFile(const std::filesystem::path& folder);
  ~TensorBoardFile() override;
  void post(Event event) override;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace lathe::run
