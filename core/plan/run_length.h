#pragma once

#include <cstdint>

#include "core/config/diagnostic.h"
#include "core/config/settings.h"

namespace lathe::plan {

struct RunLength {
  std::int64_t batches_per_epoch = 0;  // micro-batches
  std::int64_t accumulation = 1;       // gradient_accumulation_steps
  std::int64_t steps_per_epoch = 0;    // optimizer steps: ceil(batches / accumulation); the last group may be short
  std::int64_t epochs = 0;             // begun; the last one may end early
  std::int64_t steps = 0;              // optimizer steps of the run
  bool by_epochs = false;              // max_train_epochs was set, and max_train_steps does not count
};

// The reference's rule: with max_train_epochs the steps are epochs · ceil(batches / accumulation), whatever
// max_train_steps says; else max_train_steps. Epochs are ceil(steps / steps per epoch). Without batches all are 0.
RunLength run_length(std::int64_t batches_per_epoch, const config::Settings& settings);

// Says which option decided, where both were given.
void explain_run_length(const RunLength& length, const config::Settings& settings, config::Findings& findings);

}  // namespace lathe::plan
