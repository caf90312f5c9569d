#include "core/plan/run_length.h"

#include <algorithm>

namespace lathe::plan {

namespace {

constexpr TextId kEpochsWin = LATHE_TEXT("plan.epochs_win",
                                         "max_train_epochs ({}) wins over max_train_steps ({}): {} steps of {} an "
                                         "epoch; unset max_train_epochs to use steps");

std::int64_t ceil_divide(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

}  // namespace

RunLength run_length(std::int64_t batches_per_epoch, const config::Settings& settings) {
  RunLength length;
  length.batches_per_epoch = batches_per_epoch;
  length.accumulation = std::max<std::int64_t>(settings.integer("gradient_accumulation_steps"), 1);
  const auto epochs = settings.maybe_integer("max_train_epochs");
  length.by_epochs = epochs.has_value();
  if (batches_per_epoch <= 0) return length;
  length.steps_per_epoch = ceil_divide(batches_per_epoch, length.accumulation);
  length.steps = epochs ? *epochs * length.steps_per_epoch : settings.integer("max_train_steps");
  length.epochs = ceil_divide(length.steps, length.steps_per_epoch);
  return length;
}

void explain_run_length(const RunLength& length, const config::Settings& settings, config::Findings& findings) {
  if (!length.by_epochs || settings.source("max_train_steps") == config::Source::standard) return;
  const std::int64_t steps = settings.integer("max_train_steps");
  if (steps == length.steps) return;
  findings.note({"max_train_epochs", "max_train_steps"},
                message(kEpochsWin, settings.integer("max_train_epochs"), steps, length.steps, length.steps_per_epoch));
}

}  // namespace lathe::plan
