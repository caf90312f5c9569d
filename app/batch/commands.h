#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "app/batch/batch.h"
#include "core/config/dataset_config.h"
#include "core/config/diagnostic.h"
#include "core/config/settings.h"
#include "core/dataset/manifest.h"
#include "core/plan/forecast.h"

namespace lathe::batch {

// The words of one call after the command: ours (--json, --quiet) taken out, the rest is settings.
struct Call {
  std::string command;
  std::vector<std::string> words;
  bool json = false;
  bool quiet = false;
};

// Settings read and checked, with everything that was found.
struct Prepared {
  config::Settings settings;
  config::DataConfig data;
  config::Findings findings;
  std::optional<dataset::Manifest> manifest;  // where the data could be read
  std::optional<plan::Forecast> forecast;
};

// How far to look: `flags` checks only the settings, `data` reads the dataset too.
enum class Depth { flags, data };
Prepared prepare(const Call& call, Depth depth, run::MakeBackend make_backend);

int run_train(const Call& call, run::MakeBackend make_backend);
int run_cache(const Call& call, run::MakeBackend make_backend);
int run_sample(const Call& call, run::MakeBackend make_backend);
int run_demo(const Call& call, run::MakeBackend make_backend);
int run_validate(const Call& call, run::MakeBackend make_backend);
int run_plan(const Call& call, run::MakeBackend make_backend);
int run_inspect(const Call& call);
int run_help(const Call& call);

// The forecast as lines for a person.
std::string forecast_text(const plan::Forecast& forecast);

// Runs a command of the engine in a session, with the console, the run folder's files and the signals joined to it, and
// `also` if given; gives the exit code.
int run_session(const Call& call, const Prepared& prepared, run::MakeBackend make_backend, const std::string& command,
                run::EventSink* also = nullptr);

}  // namespace lathe::batch
