#pragma once

#include <ATen/core/Tensor.h>

// torch's default random generators.
namespace lathe::aten {

// The generator's state, bytes on the CPU also for a card's (its seed and offset; nothing is transferred).
at::Tensor random_state(at::Device device);
void set_random_state(at::Device device, const at::Tensor& state);

}  // namespace lathe::aten
