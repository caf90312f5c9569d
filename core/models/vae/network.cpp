#include "core/models/vae/network.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include <ATen/TensorOperators.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/conv2d.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/scaled_dot_product_attention.h>
#include <ATen/ops/silu.h>
#include <ATen/ops/upsample_nearest2d.h>

#include "core/base/format.h"

namespace lathe::models::vae {
namespace {

// A causal 3-D convolution of one frame sees zeros in front of it, so only its last temporal tap counts (spec data
// 6.1). Kept contiguous: the taps of a 5-D weight lie scattered in memory.
at::Tensor last_tap(const at::Tensor& weight) {
  return (weight.dim() == 5 ? weight.select(2, weight.size(2) - 1) : weight).contiguous();
}

// Conv2d with bias. Rows and columns of zeros: `before` at the top and left, `after` at the bottom and right.
class Convolution : public Layer {
 public:
  Convolution(const TakeWeight& take, const std::string& name, std::int64_t stride = 1)
      : weight_(last_tap(take(name + ".weight"))), bias_(take(name + ".bias")), stride_(stride) {
    const bool pads = weight_.size(3) == 3;
    before_ = pads && stride == 1 ? 1 : 0;
    after_ = pads ? 1 : 0;
  }

  at::Tensor forward(const at::Tensor& x, std::int64_t chunk_rows) const override {
    const std::int64_t rows = out_size(x.size(2));
    if (weight_.size(3) == 1 || chunk_rows == 0 || rows <= chunk_rows) return strip(x, 0, rows);
    at::Tensor out = at::empty({x.size(0), weight_.size(0), rows, out_size(x.size(3))}, x.options());
    for (std::int64_t first = 0; first < rows; first += chunk_rows) {
      const std::int64_t last = std::min(rows, first + chunk_rows);
      out.narrow(2, first, last - first).copy_(strip(x, first, last));
    }
    return out;
  }

 private:
  std::int64_t out_size(std::int64_t size) const { return (size + before_ + after_ - weight_.size(3)) / stride_ + 1; }

  // Output rows first … last − 1.
  at::Tensor strip(const at::Tensor& x, std::int64_t first, std::int64_t last) const {
    const std::int64_t begin = first * stride_ - before_;
    const std::int64_t end = (last - 1) * stride_ + weight_.size(2) - before_;
    const std::int64_t top = std::max<std::int64_t>(0, -begin);
    const std::int64_t bottom = std::max<std::int64_t>(0, end - x.size(2));
    at::Tensor part = x.narrow(2, begin + top, end - bottom - begin - top);
    const std::int64_t strides[] = {stride_, stride_};
    if (top == bottom && before_ == after_) {
      const std::int64_t padding[] = {top, before_};
      return at::conv2d(part, weight_, bias_, strides, padding);
    }
    return at::conv2d(at::constant_pad_nd(part, {before_, after_, top, bottom}), weight_, bias_, strides);
  }

  at::Tensor weight_, bias_;
  std::int64_t stride_, before_, after_;
};

// x / max(‖x‖ over channels, 1e−12) · √C · γ, each step in the tensor's dtype.
class Norm : public Layer {
 public:
  Norm(const TakeWeight& take, const std::string& name)
      : gamma_(take(name + ".gamma").reshape({-1, 1, 1})), scale_(std::sqrt(static_cast<double>(gamma_.size(0)))) {}

  at::Tensor forward(const at::Tensor& x, std::int64_t) const override {
    const at::Tensor length = at::linalg_vector_norm(x, 2, 1, true).clamp_min(1e-12);
    return x / length * scale_ * gamma_;
  }

 private:
  at::Tensor gamma_;
  double scale_;
};

class Silu : public Layer {
 public:
  at::Tensor forward(const at::Tensor& x, std::int64_t) const override { return at::silu(x); }
};

class Residual : public Layer {
 public:
  Residual(const TakeWeight& take, const std::string& name, bool changes_width)
      : norm1_(take, name + ".norm1"),
        conv1_(take, name + ".conv1"),
        norm2_(take, name + ".norm2"),
        conv2_(take, name + ".conv2") {
    if (changes_width) shortcut_.emplace(take, name + ".conv_shortcut");
  }

  at::Tensor forward(const at::Tensor& x, std::int64_t chunk_rows) const override {
    const at::Tensor kept = shortcut_ ? shortcut_->forward(x, chunk_rows) : x;
    at::Tensor h = conv1_.forward(at::silu(norm1_.forward(x, chunk_rows)), chunk_rows);
    h = conv2_.forward(at::silu(norm2_.forward(h, chunk_rows)), chunk_rows);
    return h + kept;
  }

 private:
  Norm norm1_;
  Convolution conv1_;
  Norm norm2_;
  Convolution conv2_;
  std::optional<Convolution> shortcut_;
};

// One head as wide as the layer over all positions of the frame.
class Attention : public Layer {
 public:
  Attention(const TakeWeight& take, const std::string& name)
      : norm_(take, name + ".norm"), to_qkv_(take, name + ".to_qkv"), proj_(take, name + ".proj") {}

  at::Tensor forward(const at::Tensor& x, std::int64_t chunk_rows) const override {
    const std::int64_t batch = x.size(0), width = x.size(1), height = x.size(2), columns = x.size(3);
    at::Tensor qkv = to_qkv_.forward(norm_.forward(x, chunk_rows), chunk_rows);
    qkv = qkv.reshape({batch, 1, 3 * width, height * columns}).transpose(2, 3).contiguous();
    const std::vector<at::Tensor> parts = qkv.chunk(3, -1);
    at::Tensor out = at::scaled_dot_product_attention(parts[0], parts[1], parts[2]);
    out = out.squeeze(1).transpose(1, 2).reshape({batch, width, height, columns});
    return proj_.forward(out, chunk_rows) + x;
  }

 private:
  Norm norm_;
  Convolution to_qkv_, proj_;
};

// Every pixel doubled, then a 3×3 convolution to half the width.
class Upsample : public Layer {
 public:
  Upsample(const TakeWeight& take, const std::string& name) : conv_(take, name + ".resample.1") {}

  at::Tensor forward(const at::Tensor& x, std::int64_t chunk_rows) const override {
    return conv_.forward(at::upsample_nearest2d(x, {2 * x.size(2), 2 * x.size(3)}), chunk_rows);
  }

 private:
  Convolution conv_;
};

template <class L, class... A>
void add(Layers& layers, A&&... arguments) {
  layers.push_back(std::make_unique<L>(std::forward<A>(arguments)...));
}

void add_middle(Layers& layers, const TakeWeight& take, const std::string& name) {
  add<Residual>(layers, take, name + ".resnets.0", false);
  add<Attention>(layers, take, name + ".attentions.0");
  add<Residual>(layers, take, name + ".resnets.1", false);
}

void add_head(Layers& layers, const TakeWeight& take, const std::string& name) {
  add<Norm>(layers, take, name + ".norm_out");
  add<Silu>(layers);
  add<Convolution>(layers, take, name + ".conv_out");
}

}  // namespace

Layers make_encoder(const TakeWeight& take) {
  Layers layers;
  add<Convolution>(layers, take, "encoder.conv_in");
  int index = 0;
  const auto next = [&index] { return format("encoder.down_blocks.{}", index++); };
  for (int level = 0; level < 4; ++level) {
    add<Residual>(layers, take, next(), level == 1 || level == 2);
    add<Residual>(layers, take, next(), false);
    if (level < 3) add<Convolution>(layers, take, next() + ".resample.1", 2);
  }
  add_middle(layers, take, "encoder.mid_block");
  add_head(layers, take, "encoder");
  return layers;
}

Layers make_decoder(const TakeWeight& take) {
  Layers layers;
  add<Convolution>(layers, take, "decoder.conv_in");
  add_middle(layers, take, "decoder.mid_block");
  for (int level = 0; level < 4; ++level) {
    // Level 1 alone widens: the resampling before it halved the channels.
    for (int r = 0; r < 3; ++r) {
      add<Residual>(layers, take, format("decoder.up_blocks.{}.resnets.{}", level, r), level == 1 && r == 0);
    }
    if (level < 3) add<Upsample>(layers, take, format("decoder.up_blocks.{}.upsamplers.0", level));
  }
  add_head(layers, take, "decoder");
  return layers;
}

std::unique_ptr<Layer> make_pointwise(const TakeWeight& take, const std::string& name) {
  return std::make_unique<Convolution>(take, name);
}

at::Tensor run(const Layers& layers, at::Tensor x, std::int64_t chunk_rows) {
  for (const auto& layer : layers) x = layer->forward(x, chunk_rows);
  return x;
}

}  // namespace lathe::models::vae
