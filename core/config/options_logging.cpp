#include "core/config/option_table.h"

namespace lathe::config::table {

namespace {

constexpr TextId kWandbLater = LATHE_TEXT("reason.wandb", "{}: this version logs to TensorBoard files only");
constexpr TextId kWithWandbOnly = LATHE_TEXT("reason.with_wandb", "{}: it only acts together with log_with wandb");

}  // namespace

std::vector<Option> logging_options() {
  return {
      folder(LATHE_TEXT("option.logging_dir", "Folder for TensorBoard event files.")),
      choice(LATHE_TEXT("option.log_with", "Where the numbers of the run are logged."), {"tensorboard", "wandb", "all"})
          .not_yet({"wandb", "all"}, kWandbLater),
      text(LATHE_TEXT("option.log_prefix", "What the name of the log folder begins with, before the time.")),
      text(LATHE_TEXT("option.log_tracker_name", "Name of the innermost log folder; unset is network_train.")),
      file(LATHE_TEXT("option.log_tracker_config", "A TOML file of settings for the logger.")).not_yet(kLater),
      flag(LATHE_TEXT("option.log_config", "Logs the settings of the run too.")).not_yet(kLater),
      text(LATHE_TEXT("option.wandb_run_name", "Name of the run at Weights & Biases.")).no_effect(kWithWandbOnly),
      text(LATHE_TEXT("option.wandb_api_key", "Key for Weights & Biases.")).no_effect(kWithWandbOnly).is_secret(),
      choice(LATHE_TEXT("option.console_log_level", "Least important message that the console shows; unset is INFO."),
             {"DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"}),
      file(LATHE_TEXT("option.console_log_file", "A file for messages instead of the console.")),
      flag(LATHE_TEXT("option.console_log_simple", "Prints messages plainly, without colour.")),
  };
}

}  // namespace lathe::config::table
