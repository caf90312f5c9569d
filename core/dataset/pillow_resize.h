#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/dataset/manifest.h"

namespace lathe::dataset {

enum class PillowFilter { lanczos, box };

// Pillow's convolution resampling of 8-bit pixels, bit for bit: weights in double, applied as 22-bit fixed point, the
// horizontal pass first and each pass rounded to 8 bits; a pass that keeps its size is left out. `pixels` are the rows
// of `from`, `channels` bytes a pixel (1 to 4). With 4 channels the last is alpha: colours are multiplied by it before
// and divided after, as Pillow does for RGBA. Sizes are positive.
std::vector<std::uint8_t> pillow_resize(std::span<const std::uint8_t> pixels, Size from, Size to, int channels,
                                        PillowFilter filter);

}  // namespace lathe::dataset
