#pragma once

#include <memory>
#include <span>
#include <variant>
#include <vector>

#include <ATen/core/Tensor.h>

#include "core/compile/runtime/artifact.h"

namespace lathe::runtime {

// Runs a block by its artifact. `inputs` and `parameters` are the block's own lists, for which the artifact's guard
// holds. Outputs that need a gradient hang on one autograd node, which keeps what the artifact saves and, in its
// backward, refuses what has been written meanwhile. Outputs that are views are made here, on the real tensors; buffers
// are written last. After a mismatch nothing has happened: the random generators are back where they were, and the
// caller runs the block as it is.
std::variant<std::vector<at::Tensor>, Mismatch> run_block(const std::shared_ptr<const Artifact>& artifact,
                                                          std::span<const at::Tensor> inputs,
                                                          std::span<const at::Tensor> parameters,
                                                          const BuildAgain& again = {});

}  // namespace lathe::runtime
