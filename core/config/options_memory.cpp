#include "core/config/option_table.h"

namespace lathe::config::table {

namespace {

constexpr TextId kLoadedOnDemand =
    LATHE_TEXT("reason.loaded_on_demand",
               "{}: models are held only while they are needed here, whatever it says; kept in the metadata");

}  // namespace

std::vector<Option> memory_options() {
  return {
      flag(LATHE_TEXT("option.gradient_checkpointing",
                      "Computes each block a second time in the backward pass instead "
                      "of keeping its activations.")),
      flag(LATHE_TEXT("option.unsloth_offload_checkpointing",
                      "Checkpointing that keeps the blocks' inputs in the "
                      "computer's memory."))
          .not_yet(kLater),
      flag(LATHE_TEXT("option.cpu_offload_checkpointing",
                      "Checkpointing that moves activations to the computer's "
                      "memory, waiting for each."))
          .not_yet(kLater),
      real(LATHE_TEXT("option.activation_memory_budget",
                      "Share of the activations that a compiled block may keep: 0 "
                      "keeps only its inputs, 1 keeps all."))
          .between(0, 1)
          .not_yet(kLater)
          .ours(),
      integer(LATHE_TEXT("option.blocks_to_swap",
                         "Blocks of the DiT that wait in the computer's memory until they are "
                         "needed."))
          .between(0, 26)
          .not_yet(kLater),
      flag(LATHE_TEXT("option.lowram", "Loads models straight onto the card.")).no_effect(kLoadedOnDemand),
      flag(LATHE_TEXT("option.highvram", "Keeps the card's memory reserved while latents are cached."))
          .no_effect(kLoadedOnDemand),
      flag(LATHE_TEXT("option.fp8_base",
                      "Holds the base model in 8-bit floats; turned off again, as in the "
                      "reference.")),
      flag(LATHE_TEXT("option.fp8_base_unet",
                      "Holds the DiT in 8-bit floats; turned off again, as in the "
                      "reference.")),
  };
}

}  // namespace lathe::config::table
