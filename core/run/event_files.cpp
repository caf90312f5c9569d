#include "core/run/event_files.h"

#include <mutex>

#include <nlohmann/json.hpp>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/paths.h"
#include "core/io/json_lines.h"
#include "core/io/tfevents.h"
#include "core/run/events_json.h"

namespace lathe::run {

struct EventFile::State {
  explicit State(const std::filesystem::path& path) : writer(path) {}
  std::mutex mutex;
  io::JsonLinesWriter writer;  // guarded by mutex
};

EventFile::EventFile(const std::filesystem::path& path) : state_(std::make_unique<State>(path)) {}
EventFile::~EventFile() = default;

void EventFile::post(Event event) {
  const std::lock_guard lock(state_->mutex);
  const bool first = state_->writer.dropped() == 0;
  if (!state_->writer.append(to_json_value(event)) && first) {
    log::warning("events cannot be written ({}); the run goes on", state_->writer.last_problem());
  }
}

std::uint64_t EventFile::dropped() const {
  const std::lock_guard lock(state_->mutex);
  return state_->writer.dropped();
}

struct TensorBoardFile::State {
  State(const std::filesystem::path& path, double now) : writer(path, now) {}
  std::mutex mutex;
  io::TfEventsWriter writer;  // guarded by mutex
};

TensorBoardFile::TensorBoardFile(const std::filesystem::path& folder) {
  std::filesystem::create_directories(folder);
  const double now = unix_seconds();
  state_ = std::make_unique<State>(folder / from_utf8(io::tfevents_file_name(now, "lathe")), now);
}
TensorBoardFile::~TensorBoardFile() = default;

void TensorBoardFile::post(Event event) {
  io::TfEvent out;
  out.wall_time = event.time;
  const auto add = [&out](std::string name, double value) {
    out.scalars.push_back({std::move(name), static_cast<float>(value)});
  };
  if (const auto* step = std::get_if<StepDone>(&event.body)) {
    out.step = step->step;
    add("loss/current", step->loss);
    add("loss/average", step->average_loss);
    for (const auto& [group, rate] : step->learning_rates) add("lr/" + group, rate);
    if (step->gradient_norm >= 0) add("gradient_norm", step->gradient_norm);
    add("seconds/step", step->seconds);
    add("seconds/data", step->data_seconds);
  } else if (const auto* metric = std::get_if<Metric>(&event.body)) {
    out.step = metric->x;
    add(metric->name, metric->value);
  }
  if (out.scalars.empty()) return;
  const std::lock_guard lock(state_->mutex);
  state_->writer.add(out);
}

}  // namespace lathe::run
