#include "core/run/recorder.h"

#include <utility>

#include "core/base/log.h"
#include "core/run/events_json.h"

namespace lathe::run {

void Tee::post(Event event) {
  for (EventSink* sink : sinks_) sink->post(event);
}

void Summary::post(Event event) {
  if (const auto* step = std::get_if<StepDone>(&event.body)) {
    if (!has_loss_) ended_.first_loss = step->loss;
    has_loss_ = true;
    ended_.last_loss = step->loss;
    ended_.steps = step->step;
  } else if (const auto* saved = std::get_if<CheckpointSaved>(&event.body)) {
    last_checkpoint_ = saved->path;
    if (saved->kind == SavedKind::adapter && saved->last) ended_.result = saved->path;
  } else if (const auto* warning = std::get_if<Warning>(&event.body)) {
    if (!warning->group.empty()) ++counts_[warning->group];
  } else if (const auto* report = std::get_if<CompileReport>(&event.body)) {
    ++counts_[std::string("compile ") + std::string(name(report->kind))];
  }
  next_.post(std::move(event));
}

void Summary::end(EndStatus status) {
  ended_.status = status;
  ended_.seconds = watch_.seconds();
  ended_.counts.assign(counts_.begin(), counts_.end());
  next_.post({unix_seconds(), ended_});
}

}  // namespace lathe::run
