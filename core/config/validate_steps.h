#pragma once

#include "core/config/validate.h"

// The steps of validate(), each in a file of its own.
namespace lathe::config {

void make_automatic_changes(Settings& settings, Findings& findings);

// Ranges, choices, and options that do not work in this version.
void check_options(const Settings& settings, Findings& findings);

// Pairs of options that exclude each other.
void check_clashes(const Settings& settings, Findings& findings);
void check_compile(const Settings& settings, Findings& findings);
// Options against what the datasets ask for.
void check_data_clashes(const Settings& settings, const DataConfig& data, Findings& findings);

// Optimizer, learning rates and schedule.
void check_optimizer(const Settings& settings, Findings& findings);
// Adapter: network_args, weights to start from.
void check_adapter(const Settings& settings, Findings& findings);

void check_required(const Settings& settings, Purpose purpose, Findings& findings);
void check_paths(const Settings& settings, Findings& findings);
void check_device(const Settings& settings, std::optional<int> cards, Findings& findings);

}  // namespace lathe::config
