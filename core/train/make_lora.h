#pragma once

#include <memory>

#include "core/models/adapters/lora.h"
#include "core/models/anima/dit.h"
#include "core/train/run_context.h"

namespace lathe::train {

// The LoRA network on the transformer: from the options, or from network_weights with dim_from_weights; weights of
// network_weights are loaded. What the file lacks or has too much is posted.
std::unique_ptr<models::LoraNetwork> make_lora(const RunContext& context, models::anima::Dit& dit);

}  // namespace lathe::train
