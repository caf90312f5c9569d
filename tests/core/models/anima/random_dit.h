#pragma once

#include <ATen/ATen.h>

#include "core/models/anima/tiny.h"

namespace lathe::testing {

inline models::anima::DitSizes small_sizes() {
  models::anima::DitSizes sizes = models::anima::tiny_sizes(32);
  sizes.adapter_vocabulary = 50;
  return sizes;
}

inline models::anima::DitInputs some_inputs(std::int64_t batch = 2, std::int64_t rows = 6, std::int64_t columns = 8) {
  at::manual_seed(3);
  at::Tensor t5_mask = at::ones({batch, 7}, at::kLong), text_mask = at::ones({batch, 5}, at::kLong);
  t5_mask.slice(1, 5).zero_();
  text_mask.slice(1, 4).zero_();
  return {.x = at::randn({batch, 16, rows, columns}),
          .timesteps = at::rand({batch}),
          .text = at::randn({batch, 5, 32}),
          .text_mask = text_mask,
          .t5_ids = at::randint(0, 50, {batch, 7}, at::kLong),
          .t5_mask = t5_mask};
}

}  // namespace lathe::testing
