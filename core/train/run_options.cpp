#include "core/train/run_options.h"

#include <utility>

#include "core/base/error.h"
#include "core/base/format.h"
#include "core/config/python_literal.h"
#include "core/train/optimizers/make_optimizer.h"
#include "core/train/precision.h"

namespace lathe::train {

namespace {

template <class T>
T ready(OrNotYet<T> made) {
  if (auto* later = std::get_if<NotYet>(&made)) throw Error(ErrorKind::settings, later->reason.english());
  return std::get<T>(std::move(made));
}

std::vector<config::KeyValue> literals(const config::Settings& settings, std::string_view option) {
  config::Findings findings;
  std::vector<config::KeyValue> values = config::parse_literals(settings, option, findings);
  for (const config::Finding& finding : findings.all()) {
    if (finding.severity == config::Severity::error) throw Error(ErrorKind::settings, finding.english());
  }
  return values;
}

}  // namespace

StepOptions step_options(const config::Settings& settings, at::ScalarType dtype) {
  StepOptions options;
  TimestepOptions& times = options.timesteps;
  times.sampling = timestep_sampling(settings.text("timestep_sampling"));
  times.weighting = weighting_scheme(settings.text("weighting_scheme"));
  times.sigmoid_scale = settings.real("sigmoid_scale");
  times.discrete_flow_shift = settings.real("discrete_flow_shift");
  times.logit_mean = settings.real("logit_mean");
  times.logit_std = settings.real("logit_std");
  times.mode_scale = settings.real("mode_scale");
  times.ip_noise_gamma = settings.maybe_real("ip_noise_gamma").value_or(0.0);
  times.ip_noise_gamma_random_strength = settings.flag("ip_noise_gamma_random_strength");
  times.dtype = dtype;
  options.loss = loss_options(settings.text("loss_type"), settings.text("huber_schedule"), settings.real("huber_c"),
                              settings.real("huber_scale"), times.weighting);
  options.skip_nonfinite = true;
  options.accumulation = settings.integer("gradient_accumulation_steps");
  return options;
}

SaveOptions save_options(const config::Settings& settings) {
  SaveOptions options;
  if (const std::string precision = settings.text("save_precision"); !precision.empty())
    options.dtype = save_dtype(precision);
  options.retries = static_cast<int>(settings.integer("save_retries"));
  return options;
}

std::unique_ptr<Optimizer> optimizer_for(const config::Settings& settings, const models::LoraNetwork& network) {
  const double base = settings.real("learning_rate");
  std::vector<ParameterGroup> groups;
  for (const models::LoraGroup& group : network.groups(settings.maybe_real("unet_lr").value_or(base))) {
    groups.push_back({group.description, group.learning_rate, group.learning_rate, group.parameters});
  }
  if (groups.empty()) {
    throw Error(ErrorKind::settings,
                "no parameter is trained: every learning rate is 0 (learning_rate, unet_lr, network_reg_lrs)");
  }
  return ready(
      make_optimizer(settings.text("optimizer_type"), literals(settings, "optimizer_args"), std::move(groups)));
}

LrSchedule schedule_for(const config::Settings& settings, std::int64_t steps) {
  LrScheduleOptions options;
  options.name = settings.text("lr_scheduler");
  options.custom_class = settings.text("lr_scheduler_type");
  options.arguments = literals(settings, "lr_scheduler_args");
  options.warmup_steps = settings.steps("lr_warmup_steps");
  options.decay_steps = settings.steps("lr_decay_steps");
  options.num_cycles = settings.integer("lr_scheduler_num_cycles");
  options.power = settings.real("lr_scheduler_power");
  options.timescale = settings.maybe_integer("lr_scheduler_timescale");
  options.min_lr_ratio = settings.maybe_real("lr_scheduler_min_lr_ratio");
  options.max_train_steps = steps;
  options.optimizer_type = settings.text("optimizer_type");
  options.default_learning_rate = settings.real("learning_rate");
  return ready(make_lr_schedule(options));
}

}  // namespace lathe::train
