#include "app/batch/commands.h"

#include <cstdio>

#include "app/batch/console.h"
#include "app/batch/inspect.h"
#include "core/base/error.h"
#include "core/base/files.h"
#include "core/base/paths.h"
#include "core/config/effective.h"
#include "core/plan/forecast_json.h"

namespace lathe::batch {

namespace {

// Prints what was found; whether the run must not start.
bool refuses(const Prepared& prepared) {
  print(prepared.findings);
  if (!prepared.findings.has_errors()) return false;
  std::fprintf(stderr, "%zu problems; nothing was started\n", prepared.findings.count(config::Severity::error));
  return true;
}

// --output_config: writes the settings to config_file and ends, as the reference does.
int write_config_file(const config::Settings& settings) {
  const std::filesystem::path file = from_utf8(settings.text("config_file"));
  if (std::filesystem::exists(file)) {
    std::fprintf(stderr, "error: '%s' exists already; name another config_file\n", to_utf8(file).c_str());
    return kInvalidSettings;
  }
  write_text(file, config::effective_toml(settings));
  std::printf("wrote %s\n", to_utf8(file).c_str());
  return kDone;
}

}  // namespace

int run_train(const Call& call, run::MakeBackend make_backend) {
  Prepared prepared = prepare(call, Depth::data, make_backend);
  if (refuses(prepared)) return kInvalidSettings;
  if (prepared.settings.flag("output_config")) return write_config_file(prepared.settings);
  return run_session(call, prepared, make_backend, "train");
}

int run_cache(const Call& call, run::MakeBackend make_backend) {
  Prepared prepared = prepare(call, Depth::data, make_backend);
  if (refuses(prepared)) return kInvalidSettings;
  return run_session(call, prepared, make_backend, "cache");
}

int run_sample(const Call& call, run::MakeBackend make_backend) {
  Prepared prepared = prepare(call, Depth::flags, make_backend);
  if (refuses(prepared)) return kInvalidSettings;
  return run_session(call, prepared, make_backend, "sample");
}

int run_validate(const Call& call, run::MakeBackend make_backend) {
  const Prepared prepared = prepare(call, Depth::flags, make_backend);
  if (refuses(prepared)) return kInvalidSettings;
  std::printf("the settings are valid\n");
  return kDone;
}

int run_plan(const Call& call, run::MakeBackend make_backend) {
  const Prepared prepared = prepare(call, Depth::data, make_backend);
  if (prepared.forecast) {
    const std::string text = call.json ? plan::to_json(*prepared.forecast) + "\n" : forecast_text(*prepared.forecast);
    std::fputs(text.c_str(), stdout);
  }
  return refuses(prepared) ? kInvalidSettings : kDone;
}

int run_inspect(const Call& call) {
  if (call.words.empty()) throw Error(ErrorKind::settings, "inspect needs a file: lathe-batch inspect FILE …");
  for (const std::string& word : call.words) std::fputs(inspect_file(from_utf8(word)).c_str(), stdout);
  return kDone;
}

}  // namespace lathe::batch
