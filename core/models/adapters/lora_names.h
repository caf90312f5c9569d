#pragma once

#include <string>

#include "core/models/common/linear.h"

namespace lathe::models {

// lora_unet + blocks.0.mlp.layer1 → lora_unet_blocks_0_mlp_layer1
std::string lora_name(const std::string& prefix, const std::string& original_name);

// Whether modules of this class carry adapters: the transformer's and Qwen3's always, the LLM adapter's on request.
bool is_lora_target(const NamedLinear& linear, bool train_llm_adapter);

}  // namespace lathe::models
