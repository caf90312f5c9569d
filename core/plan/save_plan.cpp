#include "core/plan/save_plan.h"

#include <algorithm>

#include "core/base/format.h"

namespace lathe::plan {

namespace {

// File names without output_name.
constexpr std::string_view kEpochName = "epoch", kStepName = "at", kLastName = "last";

std::string epoch_suffix(std::int64_t epoch) {
  return format("-{:06d}", epoch);
}
std::string step_suffix(std::int64_t step) {
  return format("-step{:08d}", step);
}

// 0 or less is "off" in the reference's options of this kind.
std::optional<std::int64_t> positive(std::optional<std::int64_t> value) {
  return value && *value > 0 ? value : std::nullopt;
}

// The step number whose save leaves when `step` is saved: the last multiple of `every` that is more than `keep` steps
// old. Nothing where there can be none.
std::optional<std::int64_t> outdated_step(std::int64_t step, std::int64_t every, std::int64_t keep) {
  const std::int64_t candidate = step - keep - 1;
  if (candidate < 0) return std::nullopt;
  const std::int64_t number = candidate - candidate % every;
  return number > 0 ? std::optional(number) : std::nullopt;
}

std::optional<std::int64_t> outdated_epoch(std::int64_t epoch, std::int64_t every, std::int64_t keep) {
  const std::int64_t number = epoch - every * keep;
  return number > 0 ? std::optional(number) : std::nullopt;
}

}  // namespace

SavePlan::SavePlan(const config::Settings& settings, const RunLength& length)
    : length_(length),
      name_(settings.text("output_name")),
      extension_("." + settings.text("save_model_as")),
      every_n_epochs_(positive(settings.maybe_integer("save_every_n_epochs"))),
      every_n_steps_(positive(settings.maybe_integer("save_every_n_steps"))),
      last_n_epochs_(positive(settings.maybe_integer("save_last_n_epochs"))),
      last_n_steps_(settings.maybe_integer("save_last_n_steps")),
      last_n_epochs_state_(positive(settings.maybe_integer("save_last_n_epochs_state"))),
      last_n_steps_state_(positive(settings.maybe_integer("save_last_n_steps_state"))),
      states_(settings.flag("save_state")),
      state_at_end_(settings.flag("save_state") || settings.flag("save_state_on_train_end")) {
  if (const auto ratio = positive(settings.maybe_integer("save_n_epoch_ratio"))) {
    every_n_epochs_ = std::max<std::int64_t>(length.epochs / *ratio, 1);
  }
  if (!last_n_epochs_state_) last_n_epochs_state_ = last_n_epochs_;
  if (!last_n_steps_state_) last_n_steps_state_ = last_n_steps_;
}

std::string SavePlan::file(std::string_view default_name, std::string_view suffix) const {
  return (name_.empty() ? std::string(default_name) : name_) + std::string(suffix) + extension_;
}

std::string SavePlan::folder(std::string_view default_name, std::string_view suffix) const {
  return (name_.empty() ? std::string(default_name) : name_) + std::string(suffix) + "-state";
}

std::optional<Save> SavePlan::after_step(std::int64_t step) const {
  if (!every_n_steps_ || step % *every_n_steps_ != 0) return std::nullopt;
  Save save{SaveMoment::step, step, 0, file(kStepName, step_suffix(step)), "", "", ""};
  if (length_.steps_per_epoch > 0) save.epoch = (step - 1) / length_.steps_per_epoch + 1;
  if (last_n_steps_) {
    if (const auto old = outdated_step(step, *every_n_steps_, *last_n_steps_)) {
      save.outdated_adapter = file(kStepName, step_suffix(*old));
    }
  }
  if (!states_) return save;
  save.state = folder(kStepName, step_suffix(step));
  if (last_n_steps_state_) {
    if (const auto old = outdated_step(step, *every_n_steps_, *last_n_steps_state_)) {
      save.outdated_state = folder(kStepName, step_suffix(*old));
    }
  }
  return save;
}

std::optional<Save> SavePlan::after_epoch(std::int64_t epoch, std::int64_t step) const {
  if (!every_n_epochs_ || epoch % *every_n_epochs_ != 0 || epoch >= length_.epochs) return std::nullopt;
  Save save{SaveMoment::epoch, step, epoch, file(kEpochName, epoch_suffix(epoch)), "", "", ""};
  if (last_n_epochs_) {
    if (const auto old = outdated_epoch(epoch, *every_n_epochs_, *last_n_epochs_)) {
      save.outdated_adapter = file(kEpochName, epoch_suffix(*old));
    }
  }
  if (!states_) return save;
  save.state = folder(kEpochName, epoch_suffix(epoch));
  if (last_n_epochs_state_) {
    if (const auto old = outdated_epoch(epoch, *every_n_epochs_, *last_n_epochs_state_)) {
      save.outdated_state = folder(kEpochName, epoch_suffix(*old));
    }
  }
  return save;
}

Save SavePlan::at_end(std::int64_t step, std::int64_t epoch) const {
  return {SaveMoment::last, step, epoch, file(kLastName, ""), state_at_end_ ? folder(kLastName, "") : "", "", ""};
}

Save SavePlan::on_request(std::int64_t step, std::int64_t epoch) const {
  return {SaveMoment::step,
          step,
          epoch,
          file(kStepName, step_suffix(step)),
          states_ ? folder(kStepName, step_suffix(step)) : "",
          "",
          ""};
}

std::vector<Save> SavePlan::all() const {
  std::vector<Save> saves;
  if (every_n_steps_) {
    for (std::int64_t step = *every_n_steps_; step <= length_.steps; step += *every_n_steps_) {
      saves.push_back(*after_step(step));
    }
  }
  if (every_n_epochs_) {
    for (std::int64_t epoch = *every_n_epochs_; epoch < length_.epochs; epoch += *every_n_epochs_) {
      saves.push_back(*after_epoch(epoch, epoch * length_.steps_per_epoch));
    }
  }
  // At an epoch's end the step is saved first.
  std::ranges::stable_sort(saves, {}, &Save::step);
  saves.push_back(at_end(length_.steps, length_.epochs));
  return saves;
}

SamplePlan::SamplePlan(const config::Settings& settings) {
  if (settings.text("sample_prompts").empty()) return;
  at_first_ = settings.flag("sample_at_first");
  every_n_epochs_ = positive(settings.maybe_integer("sample_every_n_epochs"));
  if (!every_n_epochs_) every_n_steps_ = positive(settings.maybe_integer("sample_every_n_steps"));
}

bool SamplePlan::after_step(std::int64_t step) const {
  return every_n_steps_ && step % *every_n_steps_ == 0;
}

bool SamplePlan::after_epoch(std::int64_t epoch) const {
  return every_n_epochs_ && epoch % *every_n_epochs_ == 0;
}

std::int64_t SamplePlan::count(const RunLength& length) const {
  std::int64_t count = at_first_ ? 1 : 0;
  if (every_n_steps_) count += length.steps / *every_n_steps_;
  if (every_n_epochs_) count += length.epochs / *every_n_epochs_;
  return count;
}

}  // namespace lathe::plan
