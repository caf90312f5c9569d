#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

namespace lathe::models::anima {

inline constexpr std::int64_t kPatch = 2;  // rows and columns of a patch, in latents

// [B, C, H, W] → [B, 1, h, w, C·4]; feature 4c + 2m + n for channel c, row m, column n of the patch (spec 1.6).
at::Tensor patchify(const at::Tensor& x);
// [B, 1, h, w, 4·C] → [B, C, H, W]; here the channel is fastest: feature (2m + n)·C + c.
at::Tensor unpatchify(const at::Tensor& tokens);

// x [B, C, H, W] with the padding mask [B, 1, *, *] (resized to H × W by nearest neighbour; undefined: zeros) as its
// last channel.
at::Tensor with_padding_channel(const at::Tensor& x, const at::Tensor& padding_mask);

}  // namespace lathe::models::anima
