#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/config/diagnostic.h"
#include "core/config/settings.h"

namespace lathe::config {

// What stood before the reference's script on a command line written for it.
struct LauncherWords {
  std::vector<std::string> rest;  // without the launcher, its options and the script; all words where there is none
  std::optional<std::string> mixed_precision;
  std::optional<std::string> device;  // asked for by --cpu or --gpu_ids
};

// Takes `accelerate launch [options] …/anima_train_network.py` or `python …/anima_train_network.py` off the front. Each
// option of the launcher becomes a finding.
LauncherWords strip_launcher(const std::vector<std::string>& words, Findings& findings);

// What can only be said once the settings are known: the launcher's mixed precision, which the reference ignores, and
// its device, which is taken over where the settings name none.
void answer_launcher(const LauncherWords& launcher, Settings& settings, Findings& findings);

}  // namespace lathe::config
