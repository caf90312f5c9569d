#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/compile/ir/kernel_spec.h"

namespace lathe::codegen {

// How the threads of a CUDA kernel share its domain.
enum class CudaMapping {
  elements,      // no reduction: a thread an element, over outer · row
  block_a_row,   // reductions: a block an outer index, its threads along the row
  thread_a_row,  // running sums: a thread an outer index
};
CudaMapping mapping(const ir::KernelSpec& kernel);

// One CUDA source with every kernel, each `extern "C" __global__` under its own name (kernels that share a name once).
// Parameters: the inputs, the outputs, then i64 for each symbol, then i64 outer count. Any grid size is right (kernels
// stride over what is left); blocks are a multiple of 32 threads, at most 1024. No headers: NVRTC builds it for sm_75
// and later.
std::string emit_cuda(std::span<const ir::KernelSpec> kernels, const std::vector<ir::Value>& values);

}  // namespace lathe::codegen
