#pragma once

#include <string_view>

namespace lathe::codegen {

// CUDA C++ that stands before the kernels of every generated CUDA source: element types, conversions of bf16 and f16 by
// hand, sums and maxima over the threads of a block. Includes nothing, so that NVRTC needs no headers.
std::string_view cuda_prelude();

}  // namespace lathe::codegen
