#include <cstdio>
#include <memory>

#include "app/batch/commands.h"
#include "app/batch/console.h"
#include "app/batch/signals.h"
#include "core/base/clock.h"
#include "core/base/files.h"
#include "core/base/format.h"
#include "core/base/log.h"
#include "core/base/paths.h"
#include "core/config/effective.h"
#include "core/plan/forecast_json.h"
#include "core/run/event_files.h"
#include "core/run/recorder.h"
#include "core/run/run_folder.h"
#include "core/run/session.h"

#ifdef _WIN32
#include <io.h>
#else
#include <unistd.h>
#endif

namespace lathe::batch {

namespace fs = std::filesystem;

namespace {

bool is_terminal(std::FILE* file) {
#ifdef _WIN32
  return _isatty(_fileno(file)) != 0;
#else
  return ::isatty(fileno(file)) != 0;
#endif
}

// Where the reference's tracker would write: <logging_dir>/<log_prefix><time>/<tracker name>; else in the run folder.
fs::path tensorboard_folder(const config::Settings& settings, const run::RunFolder& folder) {
  const std::string logging = settings.text("logging_dir");
  if (logging.empty()) return folder.tensorboard();
  const std::string tracker = settings.text("log_tracker_name");
  return from_utf8(logging) / from_utf8(settings.text("log_prefix") + local_time("%Y%m%d%H%M%S")) /
         from_utf8(tracker.empty() ? "network_train" : tracker);
}

class Silent : public run::EventSink {
 public:
  void post(run::Event) override {}
};

// Collects what decides the exit code. `to_stderr`: nobody else tells why a run failed.
class Outcome : public run::EventSink {
 public:
  explicit Outcome(bool to_stderr) : to_stderr_(to_stderr) {}
  void post(run::Event event) override {
    const auto* failed = std::get_if<run::RunFailed>(&event.body);
    if (failed == nullptr) return;
    kind_ = failed->kind;
    if (to_stderr_) std::fprintf(stderr, "failed: %s\n", failed->message.english().c_str());
  }
  int code(run::EndStatus status) const {
    if (status == run::EndStatus::stopped) return kStopped;
    if (status == run::EndStatus::completed) return kDone;
    return kind_ == name(ErrorKind::settings) ? kInvalidSettings : kFailed;
  }

 private:
  bool to_stderr_;
  std::string kind_;
};

run::Work work_for(const std::string& command) {
  if (command == "cache") {
    return [](run::Backend& backend, const run::Job& job, run::EventSink& events, run::Control& control) {
      backend.cache(job, events, control);
      return run::EndStatus::completed;
    };
  }
  if (command == "sample") {
    return [](run::Backend& backend, const run::Job& job, run::EventSink& events, run::Control& control) {
      backend.sample(job, events, control);
      return run::EndStatus::completed;
    };
  }
  return [](run::Backend& backend, const run::Job& job, run::EventSink& events, run::Control& control) {
    return backend.train(job, events, control);
  };
}

log::Level log_level(const config::Settings& settings) {
  const std::string name = settings.text("console_log_level");
  if (name == "DEBUG") return log::Level::debug;
  if (name == "WARNING") return log::Level::warning;
  if (name == "ERROR" || name == "CRITICAL") return log::Level::error;
  return log::Level::info;
}

void write_beginnings(const run::RunFolder& folder, const Prepared& prepared) {
  write_text(folder.settings(), config::effective_toml(prepared.settings));
  write_text(folder.command_line(), join(config::effective_words(prepared.settings), "\n") + "\n");
  if (prepared.forecast) write_text(folder.forecast(), plan::to_json(*prepared.forecast));
}

}  // namespace

int run_session(const Call& call, const Prepared& prepared, run::MakeBackend make_backend, const std::string& command,
                run::EventSink* also) {
  const config::Settings& settings = prepared.settings;
  const run::RunFolder folder =
      run::create_run_folder(from_utf8(settings.text("output_dir")), settings.text("output_name"));
  write_beginnings(folder, prepared);
  const std::string log_file = settings.text("console_log_file");
  log::set_up(log_level(settings), log_file.empty() ? folder.log() : from_utf8(log_file),
              settings.flag("console_log_simple"));

  std::unique_ptr<run::EventSink> console;
  if (call.json) {
    console = std::make_unique<JsonConsole>(stdout);
  } else if (call.quiet) {
    console = std::make_unique<Silent>();
  } else {
    console = std::make_unique<Console>(stdout, is_terminal(stdout));
  }
  run::EventFile events(folder.events());
  Outcome outcome(call.json || call.quiet);
  std::vector<run::EventSink*> sinks = {console.get(), &events, &outcome};
  if (also != nullptr) sinks.push_back(also);
  std::optional<run::TensorBoardFile> tensorboard;
  if (command == "train") sinks.push_back(&tensorboard.emplace(tensorboard_folder(settings, folder)));
  run::Tee tee(std::move(sinks));

  run::Session session(make_backend(), {settings, prepared.data, folder.path}, tee, work_for(command));
  const StopOnSignal signals(session.control());
  int code = outcome.code(session.wait());
  if (!call.json && !call.quiet) std::printf("run folder: %s\n", to_utf8(folder.path).c_str());
  if (events.dropped() > 0) {
    std::fprintf(stderr, "%s\n",
                 format("warning: {} events could not be written to {}", events.dropped(), folder.events()).c_str());
  }
  const double threshold = settings.real("coverage_threshold");
  if (code == kDone && prepared.forecast && prepared.forecast->coverage < threshold) {
    std::fprintf(stderr, "%s\n",
                 format("incomplete: {:.1f} % of the images were used, coverage_threshold asks for {:.1f} %",
                        prepared.forecast->coverage * 100.0, threshold * 100.0)
                     .c_str());
    code = kIncomplete;
  }
  return code;
}

}  // namespace lathe::batch
