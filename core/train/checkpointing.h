#pragma once

#include "core/models/block.h"

namespace lathe::train {

// Gradient checkpointing of block calls (spec 4.10): the forward keeps only a block's inputs, the backward runs the
// block again, under the autocast and random state that the forward had, to get its activations. Gradients go to the
// inputs and to every parameter of the block that needs one, as without it (bit-equal on the CPU). `inner` runs the
// block, both times. Where no gradient is recorded the call goes straight to `inner`. The block must outlive the
// backward.
models::RunBlock with_checkpointing(models::RunBlock inner = models::run_eagerly);

}  // namespace lathe::train
