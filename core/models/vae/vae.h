#pragma once

#include <filesystem>
#include <memory>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

namespace lathe::models {

// The Qwen-Image VAE for single frames (3×3×3 convolutions act through their last temporal tap).
class Vae {
 public:
  // Safetensors in the Qwen-Image or the Wan/ComfyUI naming; base width and all sizes from the shapes. `dtype`: V.
  static std::unique_ptr<Vae> load(const std::filesystem::path& path, at::ScalarType dtype, at::Device device);
  virtual ~Vae() = default;

  // pixels [B, 3, H, W] in [−1, 1], H and W multiples of 8 → moments [B, 32, H/8, W/8] (mean, log variance).
  virtual at::Tensor moments(const at::Tensor& pixels) const = 0;
  // Normalised mode of the posterior [B, 16, H/8, W/8], in V.
  virtual at::Tensor encode(const at::Tensor& pixels) const = 0;
  // Normalised latents → pixels [B, 3, H, W] in [−1, 1].
  virtual at::Tensor decode(const at::Tensor& latents) const = 0;
  // Splits convolutions along H to save memory; 0: off; odd numbers are raised by one.
  virtual void set_chunk_size(std::int64_t rows) = 0;
  virtual at::ScalarType dtype() const = 0;
  virtual void to(at::ScalarType dtype) = 0;
  virtual std::vector<std::pair<std::string, at::Tensor>> state() const = 0;  // Qwen-Image keys, 5-D weights
};

class StateDict;
// From weights in the Qwen-Image naming that are already at hand.
std::unique_ptr<Vae> make_vae(StateDict& weights, at::ScalarType dtype, at::Device device);

}  // namespace lathe::models
