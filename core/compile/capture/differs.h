#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "core/compile/ir/graph.h"

namespace lathe::capture {

// Where `seen`, recorded at the sizes `symbols`, is not what `predicted` says at these sizes: the first node, operand
// or list that differs, predicted → seen. Nothing where they agree. It is what finds state of a block that shapes its
// C++ path and shows in no tensor.
std::optional<std::string> differs(const ir::Graph& predicted, std::span<const std::int64_t> symbols,
                                   const ir::Graph& seen);

}  // namespace lathe::capture
