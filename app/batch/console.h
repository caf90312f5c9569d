#pragma once

#include <cstdio>
#include <mutex>
#include <string>

#include "core/base/clock.h"
#include "core/config/diagnostic.h"
#include "core/run/events.h"

namespace lathe::batch {

// Prints events as lines for a person. On a terminal the progress line is refreshed in place; otherwise (a log file) a
// progress line appears at most every two seconds, and always for the first and the last step.
class Console : public run::EventSink {
 public:
  Console(std::FILE* out, bool terminal);
  ~Console() override;
  void post(run::Event event) override;

 private:
  void show(const run::PhaseChanged& event);
  void show(const run::StepDone& event);
  void show(const run::CompileReport& event);
  void show(const run::SampleReady& event);
  void show(const run::CheckpointSaved& event);
  void show(const run::Metric&) {}
  void show(const run::Warning& event);
  void show(const run::RunFailed& event);
  void show(const run::RunEnded& event);
  void progress(const std::string& text, bool always);
  void line(const std::string& text);

  std::FILE* out_;
  bool terminal_;
  std::mutex mutex_;           // events come from the run's thread and from loaders
  bool unfinished_ = false;    // a progress line without its end; guarded by mutex_
  double last_progress_ = -1;  // guarded by mutex_
  Stopwatch watch_;
};

// Prints events as JSON lines, the same as in events.jsonl.
class JsonConsole : public run::EventSink {
 public:
  explicit JsonConsole(std::FILE* out) : out_(out) {}
  void post(run::Event event) override;

 private:
  std::FILE* out_;
  std::mutex mutex_;
};

// All findings, errors first, one line each with its fixes; to stderr.
void print(const config::Findings& findings);

}  // namespace lathe::batch
