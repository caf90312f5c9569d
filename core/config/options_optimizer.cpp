#include "core/config/option_table.h"

namespace lathe::config::table {

namespace {

constexpr TextId kOptimizerLater = LATHE_TEXT("reason.optimizer", "{}: this version has AdamW only");
constexpr TextId kPythonScheduler =
    LATHE_TEXT("reason.python_scheduler", "{}: it names a Python class; this version has the built-in schedules only");
constexpr TextId kBrokenScheduler =
    LATHE_TEXT("reason.broken_scheduler", "{}: the reference cannot make this schedule from its command line either");

}  // namespace

std::vector<Option> optimizer_options() {
  return {
      text(LATHE_TEXT("option.optimizer_type", "The optimizer; empty is AdamW."), "")
          .usually({"AdamW",           "AdamW8bit",         "PagedAdamW",
                    "PagedAdamW8bit",  "PagedAdamW32bit",   "Lion",
                    "Lion8bit",        "PagedLion8bit",     "SGDNesterov",
                    "SGDNesterov8bit", "DAdaptation",       "DAdaptAdaGrad",
                    "DAdaptAdam",      "DAdaptAdan",        "DAdaptAdanIP",
                    "DAdaptLion",      "DAdaptSGD",         "Prodigy",
                    "Adafactor",       "RAdamScheduleFree", "AdamWScheduleFree",
                    "SGDScheduleFree"})
          .not_yet({"AdamW8bit",      "PagedAdamW",    "PagedAdamW8bit", "PagedAdamW32bit",   "Lion",
                    "Lion8bit",       "PagedLion8bit", "SGDNesterov",    "SGDNesterov8bit",   "DAdaptation",
                    "DAdaptAdaGrad",  "DAdaptAdam",    "DAdaptAdan",     "DAdaptAdanIP",      "DAdaptLion",
                    "DAdaptSGD",      "Prodigy",       "Adafactor",      "RAdamScheduleFree", "AdamWScheduleFree",
                    "SGDScheduleFree"},
                   kOptimizerLater),
      text_list(LATHE_TEXT("option.optimizer_args",
                           "Settings of the optimizer as key=value in Python's notation: "
                           "betas=(0.9, 0.99), eps=1e-8, weight_decay=0.01.")),
      real(LATHE_TEXT("option.learning_rate", "Learning rate of everything that has none of its own."), 2e-6)
          .at_least(0),
      real(LATHE_TEXT("option.unet_lr", "Learning rate of the DiT's adapter; unset takes learning_rate.")).at_least(0),
      real_list(LATHE_TEXT("option.text_encoder_lr",
                           "Learning rate of the text encoder's adapter; the first number "
                           "counts."))
          .at_least(0),
      real(LATHE_TEXT("option.max_grad_norm", "Gradients longer than this are scaled back; 0 leaves them alone."), 1.0)
          .at_least(0),
      text(LATHE_TEXT("option.lr_scheduler", "How the learning rate changes over the run."), "constant")
          .usually({"constant", "constant_with_warmup", "linear", "cosine", "cosine_with_restarts", "polynomial",
                    "inverse_sqrt", "cosine_with_min_lr", "warmup_stable_decay", "piecewise_constant"})
          .refused({"reduce_lr_on_plateau", "cosine_warmup_with_min_lr"}, kBrokenScheduler),
      steps(LATHE_TEXT("option.lr_warmup_steps",
                       "Steps over which the learning rate rises from 0; below 1 or with %, "
                       "a share of all steps."))
          .at_least(0),
      steps(LATHE_TEXT("option.lr_decay_steps",
                       "Steps over which warmup_stable_decay falls at the end; below 1 or "
                       "with %, a share of all steps."))
          .at_least(0),
      integer(LATHE_TEXT("option.lr_scheduler_num_cycles",
                         "Restarts of cosine_with_restarts, half waves of "
                         "cosine_with_min_lr."),
              1)
          .at_least(1),
      real_from_integer(LATHE_TEXT("option.lr_scheduler_power", "Power of the polynomial schedule."), 1),
      integer(LATHE_TEXT("option.lr_scheduler_timescale",
                         "Time scale of inverse_sqrt, in steps; unset takes the "
                         "warm-up's length."))
          .at_least(1),
      real(LATHE_TEXT("option.lr_scheduler_min_lr_ratio",
                      "Lowest learning rate of cosine_with_min_lr and "
                      "warmup_stable_decay, as a share of the highest."))
          .between(0, 1),
      text_list(LATHE_TEXT("option.lr_scheduler_args",
                           "Settings of the schedule as key=value, such as step_rules of "
                           "piecewise_constant.")),
      text(LATHE_TEXT("option.lr_scheduler_type", "A schedule given as a Python class."), "").not_yet(kPythonScheduler),
      flag(LATHE_TEXT("option.use_8bit_adam", "Old way to say optimizer_type AdamW8bit.")).not_yet(kOptimizerLater),
      flag(LATHE_TEXT("option.use_lion_optimizer", "Old way to say optimizer_type Lion.")).not_yet(kOptimizerLater),
      flag(LATHE_TEXT("option.fused_backward_pass", "Steps the optimizer inside the backward pass."))
          .no_effect(
              LATHE_TEXT("reason.fused_backward", "{}: adapter training only checks it and then steps as usual")),
  };
}

}  // namespace lathe::config::table
