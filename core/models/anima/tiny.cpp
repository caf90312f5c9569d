#include "core/models/anima/tiny.h"

#include <cmath>

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/ones.h>

#include "core/models/anima/dit_model.h"

namespace lathe::models::anima {

namespace {

class RandomWeights {
 public:
  explicit RandomWeights(std::uint64_t seed) : generator_(at::make_generator<at::CPUGeneratorImpl>(seed)) {}

  at::Tensor uniform(at::IntArrayRef shape, double bound) {
    return at::empty(shape, at::kFloat).uniform_(-bound, bound, generator_);
  }
  at::Tensor normal(at::IntArrayRef shape) { return at::empty(shape, at::kFloat).normal_(0.0, 1.0, generator_); }
  // Normal, cut at three deviations: by the inverse of the distribution, as PyTorch's trunc_normal_.
  at::Tensor cut_normal(at::IntArrayRef shape, double deviation) {
    const double inside = std::erf(3.0 / std::sqrt(2.0));
    return uniform(shape, inside).erfinv_().mul_(deviation * std::sqrt(2.0)).clamp_(-3.0 * deviation, 3.0 * deviation);
  }

 private:
  at::Generator generator_;
};

bool ends_with(const std::string& text, std::string_view end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

}  // namespace

DitSizes tiny_sizes(std::int64_t text_width) {
  return {.width = 64,
          .blocks = 3,
          .heads = 4,
          .head_size = 16,
          .mlp_width = 256,
          .adaln_rank = 16,
          .text_width = text_width,
          .adapter_blocks = 2,
          .adapter_heads = 4,
          .adapter_width = text_width,
          .adapter_vocabulary = 32128,
          .adapter_mlp_width = 4 * text_width,
          .adapter_source_width = text_width};
}

void write_random_dit(const std::filesystem::path& path, const DitSizes& sizes, std::uint64_t seed,
                      at::ScalarType dtype) {
  const DitModel model(sizes, {.device = at::kMeta});
  std::vector<std::pair<std::string, std::vector<std::int64_t>>> shapes;
  for (const WeightSection& section : model.sections()) section.table->append_shapes(section.prefix, shapes);

  RandomWeights random(seed);
  NamedTensors tensors;
  double inverse_root = 1.0;  // 1/√in of the last Linear: its bias follows its weight
  for (const auto& [key, shape] : shapes) {
    at::Tensor& weight = tensors.emplace_back("net." + key, at::Tensor()).second;
    if (shape.size() == 2) inverse_root = 1.0 / std::sqrt(static_cast<double>(shape[1]));
    if (ends_with(key, "embed.weight")) {
      weight = random.normal(shape);
    } else if (shape.size() == 1 && !ends_with(key, ".bias")) {
      weight = at::ones(shape, at::kFloat);
    } else if (key.rfind("llm_adapter.", 0) == 0) {
      weight = random.uniform(shape, inverse_root);
    } else {
      weight = random.cut_normal(shape, inverse_root);
    }
    weight = weight.to(dtype);
  }
  for (const auto& [key, buffer] : model.rotary_buffers()) tensors.emplace_back("net." + key, buffer.to(dtype));
  write_tensors(path, tensors, {{"format", "pt"}});
}

}  // namespace lathe::models::anima
