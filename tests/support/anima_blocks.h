#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "tests/support/blocks.h"

namespace lathe::testing {

struct AnimaSizes {
  std::int64_t batch = 2, rows = 4, columns = 6, text = 7;
};

// Blocks of the transformer, tiny, base weights frozen in `dtype`, with a LoRA of rank 4 on every Linear whose two
// factors are random and trained.
std::vector<std::unique_ptr<models::Block>> dit_blocks(int count, at::ScalarType dtype, std::uint64_t seed = 1);
// Inputs of such a block. x needs a gradient if `first` does not say that it is the network's first block.
models::Tensors dit_inputs(const AnimaSizes& sizes, at::ScalarType dtype, bool first = false);

// A block of the LLM adapter, all weights trained; x needs a gradient, some keys are masked.
BlockCase llm_adapter_case(const AnimaSizes& sizes = {});

}  // namespace lathe::testing
