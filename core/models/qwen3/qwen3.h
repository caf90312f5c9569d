#pragma once

#include <filesystem>
#include <memory>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

#include "core/models/common/linear.h"

namespace lathe::models {

struct Qwen3Sizes {
  std::int64_t hidden = 0, layers = 0, heads = 0, kv_heads = 0, head_size = 0, mlp = 0, vocabulary = 0;
  double rope_theta = 1e6, rms_eps = 1e-6;
};

// Qwen3 as text encoder: last hidden state after the final norm.
class Qwen3 {
 public:
  // A safetensors file (keys with or without "model.") or a Hugging Face folder (config.json, shards). Sizes come from
  // the shapes, rope_theta and eps from config.json where there is one. Missing keys are an error.
  static std::unique_ptr<Qwen3> load(const std::filesystem::path& path, at::ScalarType dtype, at::Device device);
  virtual ~Qwen3() = default;

  // ids [B, S] int64, mask [B, S] (1 = token; padding on the right). Returns [B, S, hidden] with padded rows zero.
  // Runs only the rows that hold tokens.
  virtual at::Tensor forward(const at::Tensor& ids, const at::Tensor& mask) const = 0;
  virtual const Qwen3Sizes& sizes() const = 0;
  virtual std::vector<NamedLinear> linears() = 0;
  virtual std::vector<std::pair<std::string, at::Tensor>> state() const = 0;  // without "model."
};

class StateDict;
// From weights at hand, keys without "model.". Sizes as qwen3/sizes.h reads them.
std::unique_ptr<Qwen3> make_qwen3(StateDict& weights, const Qwen3Sizes& sizes, at::ScalarType dtype, at::Device device);

}  // namespace lathe::models
