#pragma once

#include "core/compile/ir/graph.h"

namespace lathe::passes {

// Replaces operators that work along the last dimension by their parts (see ops.h, "primitives"), so that each part can
// be fused with its neighbours, and statistics (mean, reciprocal deviation) can be kept while what is made from them is
// computed again: native_layer_norm and its backward, _softmax, _log_softmax, _safe_softmax and their backward,
// mse_loss and its backward, linalg_vector_norm of order 2. Every part is an ATen call, so the graph can still be
// replayed. For f16 and bf16 what eager computes in f32 inside the operator is computed in f32, and each tensor that
// eager has is rounded by a cast. An operator over other dimensions stays whole. Returns whether the graph changed.
bool decompose(ir::Graph& graph);

}  // namespace lathe::passes
