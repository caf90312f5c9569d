#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/compile/ir/graph.h"

namespace lathe::ir {

// A graph as text, one line a value or node, in order:
//   symbol s0: input_dim %0 dim 0 hint 4 min 2
//   input %0: f32[s0, 16] strides [16, 1]
//   parameter %1: f32[16, 8] strides [8, 1]
//   %2: f32[s0, 8] strides [8, 1] = mm(%0, %1)
//   %3: f32[] strides [] = backward sum(%2) draw 0 read boolean 1
//   output %2
//   input_gradient _
// Operands: %1 tensor, _ absent tensor, {%1, %2} tensors, none, true, 12 and s0*s1/2 sizes, 1.5 reals, "text", :f32
// dtype, @cuda:0 device, [1, s0] sizes, r[1.5, 2.0] reals, b[true] booleans. The device is written after the strides
// where it is not the CPU. Numbers are written so that they read back to the same bits.
std::string print(const Graph& graph);
// Operator and operands alone: equal for nodes that compute the same.
std::string print_call(const Node& node);

// Reads what print() writes; `#` begins a comment. Error(format) with line and what was expected.
Graph parse(std::string_view text);

// Why the graph breaks an invariant of graph.h, or nothing. Passes call it after each change.
std::optional<std::string> why_invalid(const Graph& graph);

}  // namespace lathe::ir
