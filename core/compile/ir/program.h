#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/compile/ir/graph.h"
#include "core/compile/ir/kernel_spec.h"

namespace lathe::ir {

// What the forward keeps for the backward, and who runs what.
struct Partition {
  // Nodes of the graph in order of execution. Nodes of the forward that the backward computes anew stand in both, there
  // just before their first reader.
  std::vector<std::int32_t> forward, backward;
  // Results of forward nodes that the backward reads, none of them a view (a view is made again from what it shows).
  std::vector<ValueId> saved;
  // Inputs, parameters and constants that the backward reads; tangents are not listed.
  std::vector<ValueId> read_outside;
  Size saved_bytes;  // of `saved`
  std::int64_t saved_bytes_at_hint = 0;
  std::int32_t recomputed = 0;           // nodes that run twice, views not counted
  std::int32_t recomputed_products = 0;  // those of them that are products or attention
};

// One step of a program.
//   library  calls the node's operator as it is; reads and makes the node's values. A result must lie in memory as its
//            value's strides say, since kernels read it so: where the library returns another layout, copy it.
//   kernel   calls a fused kernel over its domain; makes all values in KernelSpec::outputs, dense or permuted as their
//            strides say, starting at their first element. Its inputs are values made before; accesses count from the
//            first element of the value that they name.
//   view     makes the node's results from its first operand without touching an element.
struct Step {
  enum class Kind : std::uint8_t { library, kernel, view } kind = Kind::library;
  std::int32_t index = 0;      // library, view: node of the graph; kernel: among Program::kernels
  std::vector<ValueId> frees;  // read for the last time in this step, also through views; outputs are never freed
};

// Why a node that could have been fused stays a library call.
struct NotFused {
  std::int32_t node = 0;
  std::string reason;
};

// One direction of a partitioned graph, ready to run. Values keep the graph's ids; those that live only inside a kernel
// never exist.
struct Program {
  std::vector<Step> steps;
  std::vector<KernelSpec> kernels;
  std::vector<ValueId> inputs;   // read and not made here: inputs, parameters, constants, tangents, saved values
  std::vector<ValueId> outputs;  // must outlive the program: outputs and saved values, or gradients
  std::vector<NotFused> not_fused;
};

}  // namespace lathe::ir
