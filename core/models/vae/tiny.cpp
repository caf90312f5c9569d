#include "core/models/vae/tiny.h"

#include <bit>
#include <cmath>
#include <map>
#include <string>

#include "core/models/common/formula_weights.h"
#include "core/models/common/tensor_file.h"
#include "core/models/vae/layout.h"
#include "core/models/vae/normalisation.h"

namespace lathe::models::vae {
namespace {

// How the colour passes a network full of norms and SiLUs. Seven channels are carried from end to end: the colour c,
// its negative −c, and a constant K. Residual and attention branches write nothing into them. Before each output
// convolution the norm divides by ‖x‖ ≈ K, which γ = K/√C undoes, and silu(c) − silu(−c) = c undoes the SiLU.
constexpr std::int64_t kColours = 3;
constexpr std::int64_t kConstant = 2 * kColours;
constexpr std::int64_t kCarried = kConstant + 1;
constexpr double kK = 16.0;      // large against a colour: ‖x‖ varies by at most 6 / (2 K²), about 1 %
constexpr double kSpare = 0.02;  // scale of what other channels get
constexpr double kLogVariance = -6.0;

// One entry of a weight [out, in, (3,) k, k] at its last temporal tap.
void set(at::Tensor& weight, std::int64_t out, std::int64_t in, std::int64_t row, std::int64_t column, double value) {
  at::Tensor entry = weight.select(0, out).select(0, in);
  if (entry.dim() == 3) entry = entry.select(0, entry.size(0) - 1);
  entry.select(0, row).select(0, column).fill_(value);
}

double sign(std::int64_t channel) {
  return channel < kColours ? 1.0 : -1.0;
}

// Entry (latent, colour) of a 16×3 matrix of ±1 with orthogonal columns.
double mix(std::int64_t latent, std::int64_t colour) {
  return std::popcount(static_cast<std::uint64_t>(latent & (1 << colour))) % 2 ? -1.0 : 1.0;
}

class Writer {
 public:
  explicit Writer(std::int64_t base) {
    for (const auto& [key, shape] : layout(base)) {
      if (key.ends_with(".gamma")) {
        weights_[key] = formula_values(key, shape, 0.4, 1.0);
      } else if (key.ends_with(".bias")) {
        weights_[key] = formula_values(key, shape, 0.2);
      } else {
        weights_[key] = formula_weight(key, shape);
      }
    }
  }

  // Carried outputs get nothing, the others little.
  void quiet(const std::string& name) {
    for (const char* part : {".weight", ".bias"}) {
      at::Tensor& tensor = weights_.at(name + part);
      tensor.mul_(kSpare);
      tensor.narrow(0, 0, kCarried).zero_();
    }
  }

  // Each carried output is its own input, spread over `kernel` (rows of equal length).
  void carry(const std::string& name, const std::vector<std::vector<double>>& kernel) {
    quiet(name);
    at::Tensor& weight = weights_.at(name + ".weight");
    for (std::int64_t channel = 0; channel < kCarried; ++channel) {
      for (std::size_t row = 0; row < kernel.size(); ++row) {
        for (std::size_t column = 0; column < kernel.size(); ++column) {
          set(weight, channel, channel, static_cast<std::int64_t>(row), static_cast<std::int64_t>(column),
              kernel[row][column]);
        }
      }
    }
  }

  // Starts the carried channels from three colours.
  void begin(const std::string& name) {
    quiet(name);
    for (std::int64_t channel = 0; channel < kConstant; ++channel) {
      set(weights_.at(name + ".weight"), channel, channel % kColours, 1, 1, sign(channel));
    }
    weights_.at(name + ".bias").select(0, kConstant).fill_(kK);
  }

  // Three colours from the carried channels, and nothing else.
  void end(const std::string& coder) {
    at::Tensor& gamma = weights_.at(coder + ".norm_out.gamma");
    gamma.narrow(0, 0, kConstant).fill_(kK / std::sqrt(static_cast<double>(gamma.size(0))));
    at::Tensor& weight = weights_.at(coder + ".conv_out.weight");
    weight.zero_();
    weights_.at(coder + ".conv_out.bias").zero_();
    for (std::int64_t channel = 0; channel < kConstant; ++channel) {
      set(weight, channel % kColours, channel, 1, 1, sign(channel));
    }
  }

  // Colours ↔ denormalised latents, so that the normalised ones are z = mix · colour.
  void latents() {
    at::Tensor &to = weights_.at("quant_conv.weight"), &to_bias = weights_.at("quant_conv.bias");
    at::Tensor &from = weights_.at("post_quant_conv.weight"), &from_bias = weights_.at("post_quant_conv.bias");
    for (at::Tensor* tensor : {&to, &to_bias, &from, &from_bias}) tensor->zero_();
    to_bias.narrow(0, kLatentChannels, kLatentChannels).fill_(kLogVariance);
    for (std::int64_t latent = 0; latent < kLatentChannels; ++latent) {
      const double std = kStd[static_cast<std::size_t>(latent)], mean = kMean[static_cast<std::size_t>(latent)];
      to_bias.select(0, latent).fill_(mean);
      for (std::int64_t colour = 0; colour < kColours; ++colour) {
        const double back = mix(latent, colour) / (kLatentChannels * std);
        set(to, latent, colour, 0, 0, mix(latent, colour) * std);
        set(from, colour, latent, 0, 0, back);
        from_bias.select(0, colour).add_(-back * mean);
      }
    }
  }

  void write(const std::filesystem::path& path, std::int64_t base) const {
    NamedTensors ordered;
    for (const auto& [key, shape] : layout(base)) ordered.emplace_back(key, weights_.at(key));
    write_tensors(path, ordered, {{"format", "pt"}});
  }

  std::vector<std::string> names_ending(const std::string& end) const {
    std::vector<std::string> names;
    for (const auto& [key, weight] : weights_) {
      if (key.ends_with(end + ".weight")) names.push_back(key.substr(0, key.size() - std::string(".weight").size()));
    }
    return names;
  }

 private:
  std::map<std::string, at::Tensor> weights_;
};

}  // namespace

void write_tiny(const std::filesystem::path& path, std::int64_t base) {
  const std::vector<std::vector<double>> mean_of_four = {{0.25, 0.25, 0}, {0.25, 0.25, 0}, {0, 0, 0}};
  // The zeros around the picture darken the constant as much as the colours: their ratio, which is what the output
  // norm keeps, has no border.
  const std::vector<std::vector<double>> smooth = {
      {1.0 / 16, 2.0 / 16, 1.0 / 16}, {2.0 / 16, 4.0 / 16, 2.0 / 16}, {1.0 / 16, 2.0 / 16, 1.0 / 16}};
  Writer writer(base);
  for (const std::string& name : writer.names_ending(".conv2")) writer.quiet(name);
  for (const std::string& name : writer.names_ending(".proj")) writer.quiet(name);
  for (const std::string& name : writer.names_ending(".conv_shortcut")) writer.carry(name, {{1.0}});
  for (const std::string& name : writer.names_ending(".resample.1")) {
    writer.carry(name, name.starts_with("encoder.") ? mean_of_four : smooth);
  }
  for (const char* coder : {"encoder", "decoder"}) {
    writer.begin(std::string(coder) + ".conv_in");
    writer.end(coder);
  }
  writer.latents();
  writer.write(path, base);
}

}  // namespace lathe::models::vae
