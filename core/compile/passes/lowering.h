#pragma once

#include <functional>
#include <optional>
#include <string_view>

#include "core/compile/ir/graph.h"
#include "core/compile/passes/expr_builder.h"

namespace lathe::passes {

// What a pointwise node reads: the expression of the operand at this position, a tensor's at the right place.
using ReadOperand = std::function<ExprId(ir::ValueId)>;

// Whether lower() knows the operator.
bool can_lower(const ir::Graph& graph, const ir::Node& node);

// The expression of a pointwise node's result: computed in f32 for f16 and bf16 as ATen does inside an operator,
// rounded once at the end. Formulas are those of ATen's documentation. The node must be one that can_lower() accepts.
ExprId lower(const ir::Graph& graph, const ir::Node& node, ExprBuilder& builder, const ReadOperand& read);

}  // namespace lathe::passes
