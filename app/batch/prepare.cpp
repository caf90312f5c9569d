#include "app/batch/commands.h"
#include "core/base/python_random.h"
#include "core/config/args.h"
#include "core/config/validate.h"

namespace lathe::batch {

namespace {

config::Purpose purpose_of(const std::string& command) {
  if (command == "cache") return config::Purpose::cache;
  if (command == "sample") return config::Purpose::sample;
  return command == "plan" ? config::Purpose::plan : config::Purpose::train;
}

}  // namespace

Prepared prepare(const Call& call, Depth depth, run::MakeBackend make_backend) {
  Prepared prepared;
  config::Arguments arguments = config::parse_arguments(call.words, prepared.findings);
  prepared.settings = std::move(arguments.settings);
  if (call.command != "sample") prepared.data = config::read_data_config(prepared.settings, prepared.findings);
  if (call.command == "sample") {  // nothing is trained: what training asks for does not matter
    prepared.settings.set("network_train_unet_only", true, config::Source::automatic);
  }
  config::ValidateOptions options;
  options.purpose = purpose_of(call.command);
  options.cards = make_backend()->card_count();
  options.places = std::move(arguments.places);
  config::validate(prepared.settings, prepared.data, prepared.findings, options);
  if (depth == Depth::flags || prepared.findings.has_errors()) return prepared;

  // The forecast draws from a generator of its own: the run's draws stay the same whether it was asked for or not.
  PythonRandom random(static_cast<std::uint64_t>(prepared.settings.maybe_integer("seed").value_or(0)));
  prepared.manifest = dataset::build_manifest(prepared.data, prepared.settings, random, prepared.findings);
  prepared.forecast = plan::make_forecast(prepared.settings, *prepared.manifest, prepared.findings);
  config::check_disk_space(prepared.settings, prepared.forecast->output_bytes, prepared.findings);
  return prepared;
}

}  // namespace lathe::batch
