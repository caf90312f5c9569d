#pragma once

#include "core/config/settings.h"
#include "core/models/adapters/lora.h"

namespace lathe::models {

// What network_dim, network_alpha, network_dropout and network_args ask for. Entries of network_reg_dims and
// network_reg_lrs that are malformed are skipped and unknown keys have no effect, as in the reference; validation has
// warned of both. Error(settings) where a value cannot be read at all.
LoraOptions lora_options(const config::Settings& settings);

}  // namespace lathe::models
