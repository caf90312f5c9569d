#pragma once

#include "core/models/anima/dit.h"
#include "core/models/anima/modulation.h"

namespace lathe::models::anima {

// x [B, T, h, w, D] → [B, T, h, w, 4·out channels].
class FinalLayer {
 public:
  explicit FinalLayer(const DitSizes& sizes);
  FinalLayer(const FinalLayer&) = delete;
  FinalLayer& operator=(const FinalLayer&) = delete;

  at::Tensor forward(const at::Tensor& x, const at::Tensor& e, const at::Tensor& m) const;

  WeightTable table;  // without the prefix "final_layer."

 private:
  Linear linear_;
  Modulation modulation_;
};

}  // namespace lathe::models::anima
