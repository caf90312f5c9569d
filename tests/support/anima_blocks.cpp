#include "tests/support/anima_blocks.h"

#include <cmath>

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include "core/models/adapters/lora.h"
#include "core/models/anima/dit_block.h"
#include "core/models/anima/llm_adapter.h"
#include "core/models/anima/tiny.h"

namespace lathe::testing {

using models::Tensors;
namespace anima = models::anima;

namespace {

constexpr std::int64_t kTextWidth = 32;

at::Tensor random(at::IntArrayRef shape, double scale) {
  return at::randn(shape) * scale;
}

// Fills a module with weights that keep the scale of what passes through.
void fill(const models::WeightTable& table, at::ScalarType dtype) {
  std::vector<std::pair<std::string, std::vector<std::int64_t>>> shapes;
  table.append_shapes("", shapes);
  models::StateDict weights;
  for (const auto& [key, shape] : shapes) {
    weights.put(key, shape.size() == 1 ? 1.0 + random(shape, 0.1)
                                       : random(shape, 1.0 / std::sqrt(static_cast<double>(shape.back()))));
  }
  table.load(weights, "", dtype, at::kCPU);
}

class DitBlockWithLora : public anima::DitBlock {
 public:
  explicit DitBlockWithLora(at::ScalarType dtype) : DitBlock(anima::tiny_sizes(kTextWidth), anima::Attention::torch) {
    fill(table, dtype);
    std::vector<models::NamedLinear> linears;
    table.append_linears("blocks.0.", "Block", linears);
    lora_ = std::make_unique<models::LoraNetwork>(linears, "lora_unet", models::LoraOptions{.rank = 4, .alpha = 2.0});
    const at::NoGradGuard no_gradient;
    for (const models::LoraModule& module : lora_->modules()) {
      at::Tensor up = module.up;
      up.normal_(0.0, 0.1);
    }
  }

 private:
  std::unique_ptr<models::LoraNetwork> lora_;
};

}  // namespace

std::vector<std::unique_ptr<models::Block>> dit_blocks(int count, at::ScalarType dtype, std::uint64_t seed) {
  at::manual_seed(seed);
  std::vector<std::unique_ptr<models::Block>> blocks;
  for (int i = 0; i < count; ++i) blocks.push_back(std::make_unique<DitBlockWithLora>(dtype));
  return blocks;
}

Tensors dit_inputs(const AnimaSizes& sizes, at::ScalarType dtype, bool first) {
  at::manual_seed(23);
  const anima::DitSizes model = anima::tiny_sizes(kTextWidth);
  const anima::Rotation turn =
      anima::rotation(anima::ImageAngles(model.head_size, {}, dtype, at::kCPU).table(1, sizes.rows, sizes.columns));
  Tensors inputs(anima::DitBlock::kInputs);
  inputs[anima::DitBlock::kX] = random({sizes.batch, 1, sizes.rows, sizes.columns, model.width}, 1.0).to(dtype);
  inputs[anima::DitBlock::kX].requires_grad_(!first);
  inputs[anima::DitBlock::kE] = random({sizes.batch, 1, model.width}, 1.0).to(dtype);
  inputs[anima::DitBlock::kM] = random({sizes.batch, 1, 3 * model.width}, 0.3).to(dtype);
  inputs[anima::DitBlock::kContext] = random({sizes.batch, sizes.text, model.text_width}, 1.0).to(dtype);
  inputs[anima::DitBlock::kCos] = turn.cos;
  inputs[anima::DitBlock::kSin] = turn.sin;
  return inputs;
}

BlockCase llm_adapter_case(const AnimaSizes& sizes) {
  at::manual_seed(29);
  const anima::DitSizes model = anima::tiny_sizes(kTextWidth);
  auto block = std::make_unique<anima::LlmAdapterBlock>(model);
  fill(block->table, at::kFloat);
  for (at::Tensor& parameter : block->parameters()) parameter.requires_grad_(true);

  const anima::SequenceAngles angles(model.adapter_width / model.adapter_heads, at::kFloat, at::kCPU);
  const std::int64_t targets = sizes.rows + 1;
  const auto mask = [&](std::int64_t length) {
    at::Tensor keys = at::ones({sizes.batch, length}, at::kLong);
    keys.select(0, 0).slice(0, length - 2).zero_();
    return anima::KeyMask::from(keys);
  };
  const anima::Rotation turn_target = anima::rotation(angles.table(targets));
  const anima::Rotation turn_source = anima::rotation(angles.table(sizes.text));
  const anima::KeyMask target_mask = mask(targets), source_mask = mask(sizes.text);
  using Block = anima::LlmAdapterBlock;
  Tensors inputs(Block::kInputs);
  inputs[Block::kX] = random({sizes.batch, targets, model.adapter_width}, 1.0).requires_grad_(true);
  inputs[Block::kSource] = random({sizes.batch, sizes.text, model.adapter_source_width}, 1.0);
  inputs[Block::kCosTarget] = turn_target.cos;
  inputs[Block::kSinTarget] = turn_target.sin;
  inputs[Block::kCosSource] = turn_source.cos;
  inputs[Block::kSinSource] = turn_source.sin;
  inputs[Block::kTargetAllowed] = target_mask.allowed;
  inputs[Block::kTargetDead] = target_mask.dead;
  inputs[Block::kSourceAllowed] = source_mask.allowed;
  inputs[Block::kSourceDead] = source_mask.dead;
  return {std::move(block), std::move(inputs)};
}

}  // namespace lathe::testing
