#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "core/models/common/linear.h"
#include "core/models/common/weight_table.h"

namespace lathe::models::anima {

// adaLN: SiLU, two Linears (names .1 and .2), plus the shared part m; split into shift, scale and, in blocks, gate.
class Modulation {
 public:
  Modulation() = default;
  Modulation(const Modulation&) = delete;
  Modulation& operator=(const Modulation&) = delete;

  void register_in(WeightTable& table, const std::string& name, std::int64_t width, std::int64_t rank,
                   std::int64_t parts);
  // e [B, T, D], m [B, T, parts·D or more] → parts tensors [B, T, 1, 1, D].
  std::vector<at::Tensor> forward(const at::Tensor& e, const at::Tensor& m) const;

 private:
  Linear down_, up_;
  std::int64_t parts_ = 0, width_ = 0;
};

// LayerNorm(x) · (1 + scale) + shift; 1 + scale in the dtype of scale.
at::Tensor modulated_norm(const at::Tensor& x, const at::Tensor& shift, const at::Tensor& scale);

// In fp16 the residual stream and all modulations stay fp32, or they overflow. The reference's flag is "the patch
// embedding came out as fp16"; m is a Linear's output under the same autocast, so its dtype says the same.
bool keeps_residual_in_float(const at::Tensor& m);

}  // namespace lathe::models::anima
