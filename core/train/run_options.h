#pragma once

#include <cstdint>
#include <memory>

#include "core/config/settings.h"
#include "core/models/adapters/lora.h"
#include "core/train/checkpoint.h"
#include "core/train/lr_schedule.h"
#include "core/train/optimizers/optimizer.h"
#include "core/train/train_step.h"

// What the settings mean to the parts of a run. Error(settings) for values that no part can take.
namespace lathe::train {

StepOptions step_options(const config::Settings& settings, at::ScalarType dtype);
SaveOptions save_options(const config::Settings& settings);

// The optimizer over the network's learning-rate groups; groups whose rate is 0 are left out (training spec 3.6).
std::unique_ptr<Optimizer> optimizer_for(const config::Settings& settings, const models::LoraNetwork& network);
LrSchedule schedule_for(const config::Settings& settings, std::int64_t steps);

}  // namespace lathe::train
