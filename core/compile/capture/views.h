#pragma once

#include <cstddef>
#include <optional>

#include "core/compile/capture/graph_builder.h"

namespace lathe::capture {

// `base` with the part that a view shows of it replaced by `source`: the functional form of writing `source` into the
// view. `view` is the node that made the view (its first operand was of `base`'s geometry), `result` which of its
// results. Appends nodes. Nothing for operators that it does not know.
std::optional<ir::ValueId> write_through_view(GraphBuilder& builder, const ir::Node& view, std::size_t result,
                                              ir::ValueId base, ir::ValueId source);

// `id` in the strides of `geometry`, copied where it has others; sizes and dtype are equal.
ir::ValueId with_strides(GraphBuilder& builder, ir::ValueId id, const Geometry& geometry);

}  // namespace lathe::capture
