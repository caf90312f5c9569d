#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/config/python_literal.h"
#include "core/config/settings.h"
#include "core/train/not_yet.h"

namespace lathe::train {

// What decides the learning rate over a run, as the reference's options say it (spec 4.8).
struct LrScheduleOptions {
  std::string name = "constant";  // lr_scheduler, or what the optimizer put in its place (Adafactor: adafactor:<lr>)
  std::string custom_class;       // lr_scheduler_type; not empty: `name` is not read
  std::vector<config::KeyValue> arguments;  // lr_scheduler_args
  config::Steps warmup_steps, decay_steps;
  std::int64_t num_cycles = 1;
  double power = 1.0;
  std::optional<std::int64_t> timescale;
  std::optional<double> min_lr_ratio;
  std::int64_t max_train_steps = 0;  // optimizer steps of one process
  std::int64_t num_processes = 1;
  std::string optimizer_type;          // "" or "AdamW" …: some schedules belong to one optimizer
  double default_learning_rate = 0.0;  // the optimizer's own, not a group's
};

// Factor of every group's learning rate by schedule step. The schedule advances num_processes times an optimizer step.
class LrSchedule {
 public:
  explicit LrSchedule(std::function<double(std::int64_t)> factor) : factor_(std::move(factor)) {}
  double factor(std::int64_t step) const { return factor_(step); }  // from 0; the first optimizer step uses 0

 private:
  std::function<double(std::int64_t)> factor_;
};

// Error(settings) where the reference ends in an error too (warm-up with `constant`, a missing min_lr_ratio …).
OrNotYet<LrSchedule> make_lr_schedule(const LrScheduleOptions& options);

// Steps as an option gives them: a number, or a share of `total`, cut.
std::int64_t resolve_steps(const config::Steps& steps, std::int64_t total);

}  // namespace lathe::train
