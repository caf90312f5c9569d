#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "core/models/block.h"
#include "core/models/common/linear.h"

namespace lathe::models {
class StateDict;
}

namespace lathe::models::anima {

enum class Attention { torch, split };  // split: sample by sample (split_attn), with the reference's cut of the text

struct DitOptions {
  at::ScalarType dtype = at::kFloat;  // P: base weights and, hidden in it, the rotary buffers (spec 1.4)
  at::Device device = at::kCPU;
  Attention attention = Attention::torch;
};

// Sizes read from the checkpoint's shapes.
struct DitSizes {
  std::int64_t width = 0, blocks = 0, heads = 0, head_size = 0, mlp_width = 0, adaln_rank = 0, text_width = 0;
  std::int64_t in_channels = 16, out_channels = 16;
  std::int64_t adapter_blocks = 0, adapter_heads = 0, adapter_width = 0, adapter_vocabulary = 0;
  std::int64_t adapter_mlp_width = 0, adapter_source_width = 0;
  double rope_h_extrapolation = 4.0, rope_w_extrapolation = 4.0, rope_t_extrapolation = 1.0;
};

// Inputs of one forward pass; see spec 1.5.
struct DitInputs {
  at::Tensor x;             // [B, 16, H, W] in P (or fp32)
  at::Tensor timesteps;     // [B] in [0, 1], in P
  at::Tensor text;          // [B, S, C]: Qwen3 states; with `t5_ids` undefined: the adapter's own output [B, N, C]
  at::Tensor text_mask;     // [B, S], true (or non-zero) = attend
  at::Tensor t5_ids;        // [B, N] int64
  at::Tensor t5_mask;       // [B, N]
  at::Tensor padding_mask;  // [B, 1, H, W]; undefined: zeros
};

// The Anima diffusion transformer with its LLM adapter.
class Dit {
 public:
  // Reads a checkpoint with keys with or without net., model.diffusion_model. or diffusion_model. Error(checkpoint)
  // lists what is missing or unexpected.
  static std::unique_ptr<Dit> load(const std::filesystem::path& path, const DitOptions& options);
  // The same from weights without prefix. With options.device meta nothing is allocated.
  static std::unique_ptr<Dit> build(StateDict& weights, const DitOptions& options);
  virtual ~Dit() = default;

  // Velocity [B, 16, H, W]. Autocast is the caller's business. `run_block` is called for blocks() alone, with their
  // index; the adapter's blocks run as they are, as in the reference, which neither checkpoints, swaps nor compiles
  // them.
  virtual at::Tensor forward(const DitInputs& inputs, const RunBlock& run_block = run_eagerly) const = 0;
  // The adapter alone: text states to [B, N, C] with padded rows zero.
  virtual at::Tensor adapt_text(const DitInputs& inputs) const = 0;

  virtual const DitSizes& sizes() const = 0;
  virtual const DitOptions& options() const = 0;
  // Linears that adapters may target, in registration order.
  virtual std::vector<NamedLinear> linears() = 0;
  virtual const std::vector<std::unique_ptr<Block>>& blocks() const = 0;
  // The adapter's blocks, for checks of the compiler; empty where the checkpoint has no adapter.
  virtual const std::vector<std::unique_ptr<Block>>& adapter_blocks() const = 0;
  // Weights by key without prefix, in state-dict order (buffers of the file not included).
  virtual std::vector<std::pair<std::string, at::Tensor>> state() const = 0;
};

}  // namespace lathe::models::anima
