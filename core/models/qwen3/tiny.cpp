#include "core/models/qwen3/tiny.h"

#include "core/models/common/formula_weights.h"
#include "core/models/common/tensor_file.h"
#include "core/models/qwen3/sizes.h"

namespace lathe::models::qwen3 {

Qwen3Sizes tiny_sizes(std::int64_t hidden) {
  Qwen3Sizes sizes;
  sizes.hidden = hidden;
  sizes.layers = 2;
  sizes.heads = 4;
  sizes.kv_heads = 2;
  sizes.head_size = 16;
  sizes.mlp = 3 * hidden;
  sizes.vocabulary = 151936;
  return sizes;
}

void write_tiny(const std::filesystem::path& path, const Qwen3Sizes& sizes) {
  NamedTensors weights;
  for (const auto& [key, shape] : layout(sizes)) {
    at::Tensor weight = formula_weight(key, shape);
    if (shape.size() == 1) weight = formula_values(key, shape, 0.4, 1.0);
    if (key == "embed_tokens.weight") weight = formula_values(key, shape, 2.0);
    weights.emplace_back("model." + key, weight.to(at::kBFloat16));
  }
  write_tensors(path, weights, {{"format", "pt"}});
}

}  // namespace lathe::models::qwen3
