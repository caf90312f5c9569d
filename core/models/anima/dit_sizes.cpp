#include "core/models/anima/dit_sizes.h"

#include <algorithm>
#include <charconv>

#include "core/base/error.h"
#include "core/base/format.h"
#include "core/models/anima/patch.h"

namespace lathe::models::anima {

namespace {

constexpr std::int64_t kPatchArea = kPatch * kPatch;

std::int64_t dimension(const StateDict& weights, const std::string& key, std::size_t index) {
  const std::vector<std::int64_t> shape = weights.shape(key);
  if (index >= shape.size()) {
    throw Error(ErrorKind::checkpoint,
                format(weights.has(key) ? "'{}' has too few dimensions" : "'{}' is missing", key));
  }
  return shape[index];
}

// One more than the largest N of keys "<prefix>N.…".
std::int64_t count_blocks(const StateDict& weights, const std::string& prefix) {
  std::int64_t count = 0;
  for (const std::string& key : weights.keys()) {
    if (key.rfind(prefix, 0) != 0) continue;
    std::int64_t index = 0;
    const char* begin = key.data() + prefix.size();
    const auto [end, error] = std::from_chars(begin, key.data() + key.size(), index);
    if (error == std::errc() && end != begin && *end == '.') count = std::max(count, index + 1);
  }
  return count;
}

std::int64_t divide(std::int64_t width, std::int64_t head_size, const std::string& what) {
  if (head_size <= 0 || width % head_size != 0) {
    throw Error(ErrorKind::checkpoint,
                format("{}: width {} is no multiple of the head size {}", what, width, head_size));
  }
  return width / head_size;
}

void read_adapter(const StateDict& weights, DitSizes& sizes) {
  const std::string prefix = "llm_adapter.", first = prefix + "blocks.0.";
  sizes.adapter_blocks = count_blocks(weights, prefix + "blocks.");
  sizes.adapter_vocabulary = dimension(weights, prefix + "embed.weight", 0);
  sizes.adapter_width = dimension(weights, prefix + "embed.weight", 1);
  sizes.adapter_heads =
      divide(sizes.adapter_width, dimension(weights, first + "self_attn.q_norm.weight", 0), "the LLM adapter");
  sizes.adapter_mlp_width = dimension(weights, first + "mlp.0.weight", 0);
  sizes.adapter_source_width = dimension(weights, first + "cross_attn.k_proj.weight", 1);
}

}  // namespace

DitSizes read_sizes(const StateDict& weights) {
  DitSizes sizes;
  sizes.width = dimension(weights, "x_embedder.proj.1.weight", 0);
  sizes.in_channels = dimension(weights, "x_embedder.proj.1.weight", 1) / kPatchArea - 1;  // the padding mask is one
  sizes.out_channels = dimension(weights, "final_layer.linear.weight", 0) / kPatchArea;
  sizes.blocks = count_blocks(weights, "blocks.");
  sizes.head_size = dimension(weights, "blocks.0.self_attn.q_norm.weight", 0);
  sizes.heads = divide(sizes.width, sizes.head_size, "the transformer");
  sizes.mlp_width = dimension(weights, "blocks.0.mlp.layer1.weight", 0);
  sizes.adaln_rank = dimension(weights, "blocks.0.adaln_modulation_self_attn.1.weight", 0);
  sizes.text_width = dimension(weights, "blocks.0.cross_attn.k_proj.weight", 1);
  sizes.rope_h_extrapolation = sizes.rope_w_extrapolation = sizes.in_channels == 17 ? 3.0 : 4.0;
  // A head is shared among frames, rows and columns, and each needs two frequencies for its base.
  if (sizes.head_size % 2 != 0 || sizes.head_size < 12) {
    throw Error(ErrorKind::checkpoint, format("the transformer: head size {} is too small or odd", sizes.head_size));
  }
  if (weights.has("llm_adapter.out_proj.weight")) read_adapter(weights, sizes);
  return sizes;
}

}  // namespace lathe::models::anima
