#include "core/config/option_table.h"

namespace lathe::config::table {

namespace {

constexpr TextId kFullTraining =
    LATHE_TEXT("reason.full_training", "{}: it belongs to training the whole model, not an adapter");
constexpr TextId kTextEncoder =
    LATHE_TEXT("reason.text_encoder", "{}: training the text encoder is not in this version yet");

}  // namespace

std::vector<Option> adapter_options() {
  return {
      text(LATHE_TEXT("option.network_module", "Kind of adapter; Anima has one, networks.lora_anima."))
          .usually({"networks.lora_anima"}),
      integer(LATHE_TEXT("option.network_dim", "Rank of the adapter's matrices; unset is 4.")).at_least(1),
      real_from_integer(LATHE_TEXT("option.network_alpha",
                                   "The adapter acts with strength alpha / rank; 0 means alpha "
                                   "= rank."),
                        1)
          .at_least(0),
      real(LATHE_TEXT("option.network_dropout", "Share of the rank activations set to zero while training."))
          .between(0, 1),
      text_list(LATHE_TEXT("option.network_args",
                           "Further settings of the adapter as key=value: train_llm_adapter, "
                           "exclude_patterns, include_patterns, network_reg_dims, "
                           "network_reg_lrs, loraplus_lr_ratio, rank_dropout, "
                           "module_dropout.")),
      file(LATHE_TEXT("option.network_weights", "An adapter file to start from.")),
      flag(LATHE_TEXT("option.dim_from_weights", "Takes ranks and alphas from network_weights.")),
      flag(LATHE_TEXT("option.network_train_unet_only", "Trains the adapter of the DiT only.")),
      flag(LATHE_TEXT("option.network_train_text_encoder_only", "Trains the adapter of the text encoder only."))
          .not_yet(kTextEncoder),
      real(LATHE_TEXT("option.scale_weight_norms",
                      "Largest norm that up times down of a module may reach; larger ones "
                      "are scaled back after each step."))
          .above(0),
      text_list(LATHE_TEXT("option.base_weights", "Adapter files merged into the model before training."))
          .paths(PathKind::file)
          .not_yet(kLater),
      real_list(LATHE_TEXT("option.base_weights_multiplier", "Strength of each file of base_weights.")).not_yet(kLater),
      real(LATHE_TEXT("option.llm_adapter_lr", "Learning rate of the LLM adapter.")).no_effect(kFullTraining),
      real(LATHE_TEXT("option.self_attn_lr", "Learning rate of the self-attention layers.")).no_effect(kFullTraining),
      real(LATHE_TEXT("option.cross_attn_lr", "Learning rate of the cross-attention layers.")).no_effect(kFullTraining),
      real(LATHE_TEXT("option.mlp_lr", "Learning rate of the MLP layers.")).no_effect(kFullTraining),
      real(LATHE_TEXT("option.mod_lr", "Learning rate of the modulation layers.")).no_effect(kFullTraining),
  };
}

}  // namespace lathe::config::table
