#include "core/models/vae/vae.h"

#include <array>
#include <map>

#include <ATen/TensorOperators.h>
#include <ATen/ops/from_blob.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include "core/base/error.h"
#include "core/base/format.h"
#include "core/models/common/state_dict.h"
#include "core/models/vae/layout.h"
#include "core/models/vae/network.h"
#include "core/models/vae/normalisation.h"

namespace lathe::models {
namespace {

using vae::kFactor;
using vae::kLatentChannels;

// The VAE computes in V whatever the caller's autocast says: latents of an fp32 VAE must not be rounded to bf16.
struct WithoutAutocast {
  c10::impl::ExcludeDispatchKeyGuard guard{c10::autocast_dispatch_keyset};
};

class QwenImageVae : public Vae {
 public:
  QwenImageVae(StateDict& weights, at::ScalarType dtype, at::Device device) : dtype_(dtype), device_(device) {
    const auto shape = weights.shape("encoder.conv_in.weight");
    if (shape.size() != 5) {
      throw Error(ErrorKind::checkpoint,
                  "no Qwen-Image VAE: there is no 5-D weight encoder.conv_in (encoder.conv1 in the Wan naming)");
    }
    // The weights of the file stay where they are (usually mapped); the network copies the taps that it uses.
    for (const auto& [key, expected] : vae::layout(shape[0])) {
      state_.emplace_back(key, weights.take(key, expected, dtype, device.is_meta() ? device : at::Device(at::kCPU)));
    }
    weights.finish("the VAE");
    build();
  }

  at::Tensor moments(const at::Tensor& pixels) const override {
    if (pixels.dim() != 4 || pixels.size(1) != 3 || pixels.size(2) % kFactor || pixels.size(3) % kFactor) {
      throw Error(ErrorKind::internal, format("the VAE encodes [B, 3, H, W] with H and W multiples of {}, not {}",
                                              kFactor, pixels.sizes().vec()));
    }
    const WithoutAutocast in_v;
    const at::Tensor x = vae::run(encoder_, pixels.to(device_, dtype_), chunk_rows_);
    return quant_->forward(x, chunk_rows_);
  }

  at::Tensor encode(const at::Tensor& pixels) const override {
    const WithoutAutocast in_v;
    const at::Tensor mode = moments(pixels).narrow(1, 0, kLatentChannels);
    return (mode - mean_) * reciprocal_std_;
  }

  at::Tensor decode(const at::Tensor& latents) const override {
    if (latents.dim() != 4 || latents.size(1) != kLatentChannels) {
      throw Error(ErrorKind::internal,
                  format("the VAE decodes [B, {}, h, w], not {}", kLatentChannels, latents.sizes().vec()));
    }
    const WithoutAutocast in_v;
    const at::Tensor z = latents.to(device_, dtype_) / reciprocal_std_ + mean_;
    const at::Tensor x = post_quant_->forward(z, chunk_rows_);
    return vae::run(decoder_, x, chunk_rows_).clamp(-1.0, 1.0);
  }

  void set_chunk_size(std::int64_t rows) override { chunk_rows_ = rows + rows % 2; }
  at::ScalarType dtype() const override { return dtype_; }

  void to(at::ScalarType dtype) override {
    if (dtype == dtype_) return;
    dtype_ = dtype;
    for (auto& [key, tensor] : state_) tensor = tensor.to(dtype);
    build();
  }

  std::vector<std::pair<std::string, at::Tensor>> state() const override { return state_; }

 private:
  void build() {
    std::map<std::string, at::Tensor> by_key(state_.begin(), state_.end());
    const vae::TakeWeight take = [&](const std::string& key) { return by_key.at(key).to(device_); };
    encoder_ = vae::make_encoder(take);
    decoder_ = vae::make_decoder(take);
    quant_ = vae::make_pointwise(take, "quant_conv");
    post_quant_ = vae::make_pointwise(take, "post_quant_conv");
    mean_ = constant(vae::kMean);
    reciprocal_std_ = 1.0 / constant(vae::kStd);
  }

  // Rounded to V first, as the reference does: the reciprocal is then taken in V.
  at::Tensor constant(const std::array<float, kLatentChannels>& values) const {
    const at::Tensor borrowed =
        at::from_blob(const_cast<float*>(values.data()), {1, kLatentChannels, 1, 1}, at::kFloat);
    return borrowed.to(device_, dtype_, false, true);
  }

  at::ScalarType dtype_;
  at::Device device_;
  std::int64_t chunk_rows_ = 0;
  std::vector<std::pair<std::string, at::Tensor>> state_;  // on the CPU, in V, in state-dict order
  vae::Layers encoder_, decoder_;
  std::unique_ptr<vae::Layer> quant_, post_quant_;
  at::Tensor mean_, reciprocal_std_;  // [1, 16, 1, 1] in V
};

}  // namespace

std::unique_ptr<Vae> Vae::load(const std::filesystem::path& path, at::ScalarType dtype, at::Device device) {
  try {
    StateDict weights = StateDict::load(path, vae::qwen_image_key);
    return make_vae(weights, dtype, device);
  } catch (Error& error) {
    error.while_doing(format("loading the VAE {}", path));
    throw;
  }
}

std::unique_ptr<Vae> make_vae(StateDict& weights, at::ScalarType dtype, at::Device device) {
  return std::make_unique<QwenImageVae>(weights, dtype, device);
}

}  // namespace lathe::models
