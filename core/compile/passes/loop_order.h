#pragma once

#include <cstdint>
#include <span>

#include "core/compile/ir/kernel_spec.h"

namespace lathe::passes {

// The last steps of planning a kernel, on its finished expressions.

// Drops expressions that no store needs.
void drop_unused(ir::KernelSpec& kernel);

// Chooses the order of the dimensions by the strides of the first store, the densest last (a kernel with reductions
// keeps its row), and makes one of neighbours that every access walks as one.
void arrange_dimensions(ir::KernelSpec& kernel, bool has_row, std::span<const std::int64_t> hints);

// Gives each expression the sweep over the row in which all that it needs is known, and decides which of those that a
// later sweep reads are kept in a row buffer: f32 values that cost more to compute again than to store and load.
void assign_sweeps(ir::KernelSpec& kernel);

// Fills inputs, outputs and symbols from the accesses.
void collect_arguments(ir::KernelSpec& kernel);

// In the units of estimate_cost().
constexpr double kKernelStart = 100000.0;  // of one kernel: 2 µs
constexpr double kByteOfTraffic = 2.0;     // written to or read from memory

// Rough time at the hinted sizes, in units of one vector operation on one element (some 0.02 ns on a CPU core): memory
// traffic, arithmetic of each sweep, the start of the kernel. Only compared with itself.
double estimate_cost(const ir::KernelSpec& kernel, const std::vector<ir::Value>& values,
                     std::span<const std::int64_t> hints);

}  // namespace lathe::passes
