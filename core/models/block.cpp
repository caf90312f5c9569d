#include "core/models/block.h"

namespace lathe::models {

Tensors run_eagerly(const Block& block, int /*index*/, std::span<const at::Tensor> inputs) {
  return block.forward(inputs);
}

}  // namespace lathe::models
