#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "core/compile/ir/kernel_spec.h"

namespace lathe::passes {

// What the planning of kernels knows of the program that they are for.
struct PlanContext {
  const ir::Graph& graph;
  std::vector<std::int32_t> made_by;  // value: node of the program that defines it, −1 where it comes from outside
  std::vector<bool> inlined;          // node: computed again by each reader, never stored
  std::vector<std::int64_t> hints;    // of the symbols
};

struct KernelRequest {
  std::vector<std::int32_t> nodes;  // ascending; pointwise, row and movement nodes
  std::vector<ir::ValueId> stores;  // results of theirs that others read
};

struct PlannedKernel {
  ir::KernelSpec spec;  // without a name
  double cost = 0.0;    // see estimate_cost()
};

// One loop nest that computes the nodes and stores the values, or why there is none. Starts from the values stored and
// follows operands back: through views by index maps, into nodes of the request and inlined ones by their expressions;
// anything else is loaded. A reduction runs along the row, the last dimension, so all in one kernel reduce equally long
// rows. Values that are read at several places (x and its rotated half) are computed for each.
std::variant<PlannedKernel, std::string> plan_kernel(const PlanContext& context, const KernelRequest& request);

// Whether the operator is one that plan_kernel() can compute at all; its shapes may still be refused.
bool can_plan(const ir::Graph& graph, const ir::Node& node);

}  // namespace lathe::passes
