#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include <ATen/core/Tensor.h>

namespace lathe::models {

// Numbers that need no file: u_n = x_n / 2³² − 0.5 in [−0.5, 0.5) for n = 1, 2 … in row-major order, with x₀ the
// FNV-1a hash of `key` and x_{n+1} = (1664525 x_n + 1013904223) mod 2³², times `factor`, plus `offset`; computed in
// double. fp32 on the CPU. The same on every machine: golden models and the demo's stand-ins are filled with them.
at::Tensor formula_values(std::string_view key, const std::vector<std::int64_t>& shape, double factor = 1.0,
                          double offset = 0.0);

// A weight [out, …] of which a layer keeps the scale of its input: 2u · √(3 / fan_in).
at::Tensor formula_weight(std::string_view key, const std::vector<std::int64_t>& shape);

}  // namespace lathe::models
