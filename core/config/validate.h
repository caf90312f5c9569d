#pragma once

#include <cstdint>
#include <optional>

#include "core/config/args.h"
#include "core/config/dataset_config.h"
#include "core/config/diagnostic.h"
#include "core/config/settings.h"

namespace lathe::config {

// What the settings are for: it decides which options must be given.
enum class Purpose { train, cache, sample, plan };

struct ValidateOptions {
  Purpose purpose = Purpose::train;
  bool check_files = true;   // that input files exist and output folders can be written to
  std::optional<int> cards;  // graphics cards that can be used; unset: not known, and `device` is not checked
  Places places;             // where options stand (parse_arguments): findings name file and line
};

// The one validator, for every front end. Makes the reference's automatic changes (Source::automatic, each with a
// note), then finds values out of range, options that are not available, combinations that the reference rejects or
// warns of, missing files. Nothing is created; everything is found at once.
void validate(Settings& settings, const DataConfig& data, Findings& findings, const ValidateOptions& options = {});

// Whether `bytes` that the run is going to write fit on the disk of output_dir.
void check_disk_space(const Settings& settings, std::uint64_t bytes, Findings& findings);

}  // namespace lathe::config
