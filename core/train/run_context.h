#pragma once

#include <string>

#include "core/base/clock.h"
#include "core/run/backend.h"

namespace lathe::train {

// What every part of a run is handed: the job, where events go, what was asked for from outside.
class RunContext {
 public:
  RunContext(const run::Job& job, run::EventSink& events, run::Control& control)
      : job_(job), events_(events), control_(control) {}

  const config::Settings& settings() const { return job_.settings; }
  const run::Job& job() const { return job_; }
  run::Control& control() const { return control_; }

  void post(run::Body body) const { events_.post({unix_seconds(), std::move(body)}); }
  // `group`: equal warnings are counted under it in the run's last event.
  void warn(Message message, std::string group, std::int64_t step = 0) const {
    post(run::Warning{config::Severity::warning, std::move(message), step, std::move(group)});
  }
  void note(Message message, std::string group = {}) const {
    post(run::Warning{config::Severity::note, std::move(message), 0, std::move(group)});
  }
  void phase(run::Phase phase, Message what) const { post(run::PhaseChanged{phase, 0, 0, -1.0, std::move(what)}); }

 private:
  const run::Job& job_;
  run::EventSink& events_;
  run::Control& control_;
};

// Progress of a counted phase, with the time left from the pace so far. Checks for a stop at each step.
class Progress {
 public:
  Progress(const RunContext& context, run::Phase phase, Message what, std::int64_t total)
      : context_(context), phase_(phase), what_(std::move(what)), total_(total) {}

  void at(std::int64_t done) {
    context_.control().wait_while_paused();
    context_.control().check();
    show(done);
  }
  void show(std::int64_t done) {
    const double left =
        done > 0 ? watch_.seconds() / static_cast<double>(done) * static_cast<double>(total_ - done) : -1.0;
    context_.post(run::PhaseChanged{phase_, done, total_, left, what_});
  }

 private:
  const RunContext& context_;
  run::Phase phase_;
  Message what_;
  std::int64_t total_;
  Stopwatch watch_;
};

}  // namespace lathe::train
