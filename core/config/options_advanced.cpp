#include "core/config/option_table.h"

namespace lathe::config::table {

namespace {

constexpr TextId kSeveralProcesses =
    LATHE_TEXT("reason.several_processes", "{}: it only acts when several processes train together");
constexpr TextId kWithDeepSpeed = LATHE_TEXT("reason.with_deepspeed", "{}: it only acts together with deepspeed");

}  // namespace

std::vector<Option> advanced_options() {
  return {
      integer(LATHE_TEXT("option.max_data_loader_n_workers",
                         "Threads that prepare images, at most as many as the "
                         "processor has cores."),
              8)
          .at_least(0),
      flag(LATHE_TEXT("option.persistent_data_loader_workers", "Keeps those threads between epochs."))
          .no_effect(LATHE_TEXT("reason.workers_stay", "{}: the threads always live as long as the run")),
      integer(LATHE_TEXT("option.ddp_timeout", "Minutes that processes wait for each other."))
          .no_effect(kSeveralProcesses),
      flag(LATHE_TEXT("option.ddp_gradient_as_bucket_view", "Saves memory in the exchange of gradients."))
          .no_effect(kSeveralProcesses),
      flag(LATHE_TEXT("option.ddp_static_graph", "Promises that every step uses the same parameters."))
          .no_effect(kSeveralProcesses),
      flag(LATHE_TEXT("option.deepspeed", "Trains with DeepSpeed."))
          .not_yet(LATHE_TEXT("reason.deepspeed", "{}: it needs a Python library; nothing here stands in for it yet")),
      integer(LATHE_TEXT("option.zero_stage", "What DeepSpeed spreads over the processes."), 2)
          .one_of({"0", "1", "2", "3"})
          .no_effect(kWithDeepSpeed),
      choice(LATHE_TEXT("option.offload_optimizer_device", "Where DeepSpeed keeps the optimizer."), {"cpu", "nvme"})
          .no_effect(kWithDeepSpeed),
      folder(LATHE_TEXT("option.offload_optimizer_nvme_path", "Folder for an optimizer kept on disk."))
          .no_effect(kWithDeepSpeed),
      choice(LATHE_TEXT("option.offload_param_device", "Where DeepSpeed keeps the parameters."), {"cpu", "nvme"})
          .no_effect(kWithDeepSpeed),
      folder(LATHE_TEXT("option.offload_param_nvme_path", "Folder for parameters kept on disk."))
          .no_effect(kWithDeepSpeed),
      flag(LATHE_TEXT("option.zero3_init_flag", "Builds the model spread over the processes."))
          .no_effect(kWithDeepSpeed),
      flag(LATHE_TEXT("option.zero3_save_16bit_model", "Saves a spread model in 16 bit.")).no_effect(kWithDeepSpeed),
      flag(LATHE_TEXT("option.fp16_master_weights_and_gradients", "Keeps master weights and gradients in fp16."))
          .no_effect(kWithDeepSpeed),
  };
}

}  // namespace lathe::config::table
