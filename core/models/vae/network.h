#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

namespace lathe::models::vae {

// Gives a weight of the file by its Qwen-Image key (5-D convolutions as they are stored), in the dtype and on the
// device that the network runs in.
using TakeWeight = std::function<at::Tensor(const std::string& key)>;

// A layer of the single-frame network. x: [B, C, H, W]. `chunk_rows`: 0, or the rows of output that a 3×3 convolution
// makes at a time.
class Layer {
 public:
  virtual ~Layer() = default;
  virtual at::Tensor forward(const at::Tensor& x, std::int64_t chunk_rows) const = 0;
};

using Layers = std::vector<std::unique_ptr<Layer>>;

// pixels → 2·16 channels before quant_conv, at an eighth of the size.
Layers make_encoder(const TakeWeight& take);
// 16 channels after post_quant_conv → pixels, not clamped.
Layers make_decoder(const TakeWeight& take);
std::unique_ptr<Layer> make_pointwise(const TakeWeight& take, const std::string& name);

at::Tensor run(const Layers& layers, at::Tensor x, std::int64_t chunk_rows);

}  // namespace lathe::models::vae
