#include "core/models/anima/patch.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/upsample_nearest2d.h>
#include <ATen/ops/zeros.h>

namespace lathe::models::anima {

at::Tensor patchify(const at::Tensor& x) {
  const std::int64_t batch = x.size(0), channels = x.size(1), rows = x.size(2) / kPatch, columns = x.size(3) / kPatch;
  return x.reshape({batch, channels, rows, kPatch, columns, kPatch})
      .permute({0, 2, 4, 1, 3, 5})
      .reshape({batch, 1, rows, columns, channels * kPatch * kPatch});
}

at::Tensor unpatchify(const at::Tensor& tokens) {
  const std::int64_t batch = tokens.size(0), rows = tokens.size(2), columns = tokens.size(3);
  const std::int64_t channels = tokens.size(4) / (kPatch * kPatch);
  return tokens.reshape({batch, rows, columns, kPatch, kPatch, channels})
      .permute({0, 5, 1, 3, 2, 4})
      .reshape({batch, channels, rows * kPatch, columns * kPatch});
}

at::Tensor with_padding_channel(const at::Tensor& x, const at::Tensor& padding_mask) {
  const std::int64_t rows = x.size(2), columns = x.size(3);
  at::Tensor mask = padding_mask;
  if (!mask.defined()) {
    mask = at::zeros({x.size(0), 1, rows, columns}, x.options());
  } else if (mask.size(2) != rows || mask.size(3) != columns) {
    mask = at::upsample_nearest2d(mask, {rows, columns});
  }
  return at::cat({x, mask.to(x.options())}, 1);
}

}  // namespace lathe::models::anima
