#pragma once

#include <memory>

#include "core/config/settings.h"
#include "core/models/adapters/lora.h"
#include "core/models/anima/dit.h"
#include "core/train/run_context.h"

namespace lathe::train {

// network_dim, network_alpha, network_dropout and network_args as the network takes them (training spec 3.1-3.6).
// Malformed patterns and pairs are named in `findings` as warnings and left out, as the reference does.
models::LoraOptions lora_options(const config::Settings& settings, config::Findings& findings);

// The LoRA network on the transformer: from the options, or from network_weights with dim_from_weights; weights of
// network_weights are loaded. What the file lacks or has too much is posted.
std::unique_ptr<models::LoraNetwork> make_lora(const RunContext& context, models::anima::Dit& dit);

}  // namespace lathe::train
