#include "core/models/common/formula_weights.h"

#include <cmath>

#include <ATen/ops/empty.h>

#include "core/base/hash.h"

namespace lathe::models {

at::Tensor formula_values(std::string_view key, const std::vector<std::int64_t>& shape, double factor, double offset) {
  at::Tensor values = at::empty(shape, at::TensorOptions().dtype(at::kFloat));
  auto* data = values.mutable_data_ptr<float>();
  std::uint32_t x = fnv1a_32(key);
  for (std::int64_t i = 0; i < values.numel(); ++i) {
    x = 1664525u * x + 1013904223u;
    data[i] = static_cast<float>(offset + factor * (x / 4294967296.0 - 0.5));
  }
  return values;
}

at::Tensor formula_weight(std::string_view key, const std::vector<std::int64_t>& shape) {
  double fan_in = 1.0;
  for (std::size_t i = 1; i < shape.size(); ++i) fan_in *= static_cast<double>(shape[i]);
  return formula_values(key, shape, 2.0 * std::sqrt(3.0 / fan_in));
}

}  // namespace lathe::models
