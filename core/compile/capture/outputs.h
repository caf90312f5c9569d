#pragma once

#include <cstddef>
#include <vector>

#include <ATen/core/Tensor.h>

#include "core/compile/capture/recorder.h"
#include "core/compile/ir/graph.h"

namespace lathe::capture {

// A block's outputs as values, and which of them are views that are made outside the block.
struct Outputs {
  std::vector<ir::ValueId> values;
  std::vector<ir::OutputView> views;

  bool is_view(std::size_t output) const;
};

// `inputs` and `parameters` as the block got them. Outputs that autograd sees as views of one of them
// are made outside, so that the caller's writes reach the one through the other, as they do without compiling; so are
// outputs that overlap in memory. Refuses in `recorder` where overlapping outputs have no one that holds the others.
Outputs describe_outputs(const std::vector<at::Tensor>& outputs, const std::vector<at::Tensor>& inputs,
                         const std::vector<at::Tensor>& parameters, Recorder& recorder);

}  // namespace lathe::capture
