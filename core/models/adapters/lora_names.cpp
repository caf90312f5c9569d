#include "core/models/adapters/lora_names.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace lathe::models {

namespace {
constexpr std::array<std::string_view, 8> kTargetClasses = {
    "Block",          "PatchEmbed", "TimestepEmbedding",  "FinalLayer",
    "Qwen3Attention", "Qwen3MLP",   "Qwen3SdpaAttention", "Qwen3FlashAttention2"};
}  // namespace

std::string lora_name(const std::string& prefix, const std::string& original_name) {
  std::string name = prefix + "_" + original_name;
  std::replace(name.begin(), name.end(), '.', '_');
  return name;
}

bool is_lora_target(const NamedLinear& linear, bool train_llm_adapter) {
  if (linear.parent_class == "LLMAdapterTransformerBlock") return train_llm_adapter;
  return std::find(kTargetClasses.begin(), kTargetClasses.end(), linear.parent_class) != kTargetClasses.end();
}

}  // namespace lathe::models
