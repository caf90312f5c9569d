#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/compile/ir/program.h"

namespace lathe::passes {

// Groups nodes between library calls into kernels and puts the steps in order. `nodes`: those of one direction, in
// order of execution; `outputs`: values that must exist afterwards. `name`: beginning of the kernels' names, unique
// among programs whose kernels share a source.
//
// A node joins the kernel of what it reads where both can be computed over one domain, no library call lies between
// them, and the estimated time falls; then kernels that read the same values are joined in the same way. Cheap
// operators on one value (casts, products with numbers) that no library call reads are computed again by each reader
// instead of stored. What no kernel can compute stays a library call, with the reason in Program::not_fused.
ir::Program fuse(const ir::Graph& graph, std::span<const std::int32_t> nodes, const std::vector<ir::ValueId>& outputs);

// The same steps without kernels: every node that is no view stays a library call. What the backend `replay` runs.
ir::Program replay(const ir::Graph& graph, std::span<const std::int32_t> nodes,
                   const std::vector<ir::ValueId>& outputs);

}  // namespace lathe::passes
