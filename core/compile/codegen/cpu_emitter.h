#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/compile/ir/kernel_spec.h"

namespace lathe::codegen {

// How a generated CPU kernel is called. `pointers`: inputs, outputs, then one scratch row buffer (row_buffer_bytes) if
// it is not 0. `symbols`: the kernel's symbols in its own order. Works on outer indices [outer_begin, outer_end); a
// kernel that may be split along the row (splits_row) also on elements [row_begin, row_end) of it, any other on whole
// rows.
using CpuKernel = void(void* const* pointers, const std::int64_t* symbols, std::int64_t outer_begin,
                       std::int64_t outer_end, std::int64_t row_begin, std::int64_t row_end);

// Whether the row can be shared out among threads: no reduction, no running sum, nothing stored once a row.
bool splits_row(const ir::KernelSpec& kernel);
// Floats that one thread's row buffer needs for each element of the row: the number of expressions kept in it.
std::int32_t row_buffers(const ir::KernelSpec& kernel);

// One C++ source with every kernel, each an exported function of its name; kernels that share a name are written once.
// Symbolic sizes are arguments, so a source serves all sizes. `values`: the graph's, for element types.
std::string emit_cpu(std::span<const ir::KernelSpec> kernels, const std::vector<ir::Value>& values);

}  // namespace lathe::codegen
