#include "core/models/anima/final_layer.h"

#include "core/models/anima/patch.h"

namespace lathe::models::anima {

FinalLayer::FinalLayer(const DitSizes& sizes) {
  table.add("linear", linear_, sizes.out_channels * kPatch * kPatch, sizes.width);
  modulation_.register_in(table, "adaln_modulation", sizes.width, sizes.adaln_rank, 2);
}

at::Tensor FinalLayer::forward(const at::Tensor& x, const at::Tensor& e, const at::Tensor& m) const {
  const std::vector<at::Tensor> parts = modulation_.forward(e, m);
  return linear_(modulated_norm(x, parts[0], parts[1]));
}

}  // namespace lathe::models::anima
