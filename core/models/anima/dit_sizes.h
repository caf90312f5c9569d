#pragma once

#include "core/models/anima/dit.h"
#include "core/models/common/state_dict.h"

namespace lathe::models::anima {

// All sizes from the shapes of the weights: head size = length of q_norm, heads = width / head size. Latents of 16
// channels were trained with rotary extrapolation 4 for rows and columns, of 17 with 3 (spec 1.1). Error(checkpoint)
// where a weight that a size comes from is missing or no model has such sizes.
DitSizes read_sizes(const StateDict& weights);

}  // namespace lathe::models::anima
