#pragma once

#include <string>
#include <vector>

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include "core/models/adapters/lora.h"

namespace lathe::testing {

// A few Linears of a transformer, with their names.
struct LoraFixture {
  models::Linear up{.weight = at::randn({5, 6})}, down{.weight = at::randn({6, 5})},
      embedder{.weight = at::randn({6, 6})}, adapter{.weight = at::randn({4, 4})};

  std::vector<models::NamedLinear> linears() {
    return {{"x_embedder.proj.1", "PatchEmbed", &embedder},
            {"llm_adapter.blocks.0.mlp.0", "LLMAdapterTransformerBlock", &adapter},
            {"blocks.0.mlp.layer1", "Block", &up},
            {"blocks.1.mlp.layer2", "Block", &down},
            {"llm_adapter.out_proj", "LLMAdapter", &adapter}};
  }
};

inline models::LoraOptions ranks_of(std::int64_t rank, double alpha) {
  return {.rank = rank, .alpha = alpha, .alpha_is_integer = false};
}

// Adapter weights that do something.
inline void randomise(const models::LoraNetwork& lora) {
  const at::NoGradGuard no_grad;
  for (const at::Tensor& parameter : lora.parameters()) parameter.normal_(0.0, 0.5);
}

inline std::vector<std::string> names_of(const models::LoraNetwork& lora) {
  std::vector<std::string> names;
  for (const models::LoraModule& module : lora.modules()) names.push_back(module.original_name);
  return names;
}

}  // namespace lathe::testing
