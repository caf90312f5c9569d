#include "core/compile/passes/loop_plan.h"

#include "core/compile/ir/operands.h"
#include "core/compile/ir/ops.h"
#include "core/compile/ir/shape.h"
#include "core/compile/passes/kernel_planner.h"
#include "core/compile/passes/loop_order.h"
#include "core/compile/passes/lowering.h"

namespace lathe::passes {

using ir::Node;
using ir::Size;
using ir::ValueId;

namespace {

constexpr std::size_t kMostPointers = 40;
constexpr int kMostSplits = 6;

std::size_t at(std::int32_t id) {
  return static_cast<std::size_t>(id);
}

std::vector<Size> without_ones(const std::vector<Size>& sizes) {
  std::vector<Size> kept;
  for (const Size& size : sizes) {
    if (!(size == Size(1))) kept.push_back(size);
  }
  if (kept.empty()) kept.emplace_back(1);
  return kept;
}

// Rows of the first reduction; without one, the largest value that is stored.
Domain first_domain(const PlanContext& context, const KernelRequest& request) {
  Domain domain;
  domain.symbols = context.graph.symbols;
  domain.hints = context.hints;
  for (const std::int32_t index : request.nodes) {
    const Node& node = context.graph.nodes[at(index)];
    const std::string_view name = ir::plain_name(node.op);
    if (!is_reduction(name) && !is_cumulative(name)) continue;
    if (!row_dimension(context.graph, node)) throw Refused{"a reduction that is not along the last dimension"};
    domain.sizes = without_ones(context.graph.values[at(ir::tensor_at(node, 0))].sizes);
    domain.has_row = true;
    return domain;
  }
  std::int64_t most = -1;
  for (const ValueId id : request.stores) {
    const auto& sizes = context.graph.values[at(id)].sizes;
    const std::int64_t count = ir::element_count(sizes).evaluate(context.hints);
    if (count >= most) domain.sizes = without_ones(sizes);
    most = std::max(most, count);
  }
  return domain;
}

void split(Domain& domain, const SplitNeeded& wish) {
  const std::size_t dim = at(wish.dim);
  if (domain.has_row && dim + 1 == domain.sizes.size()) throw Refused{"a reshape takes the row apart"};
  domain.sizes[dim] = wish.inner;
  domain.sizes.insert(domain.sizes.begin() + static_cast<std::ptrdiff_t>(dim), wish.outer);
}

ir::KernelSpec plan(const PlanContext& context, const KernelRequest& request) {
  Domain domain = first_domain(context, request);
  for (int attempt = 0; attempt < kMostSplits; ++attempt) {
    try {
      ir::KernelSpec kernel = KernelPlanner(context, request, domain).run();
      drop_unused(kernel);
      arrange_dimensions(kernel, domain.has_row, context.hints);
      assign_sweeps(kernel);
      collect_arguments(kernel);
      if (kernel.inputs.size() + kernel.outputs.size() > kMostPointers) throw Refused{"too many values"};
      return kernel;
    } catch (const SplitNeeded& wish) {
      split(domain, wish);
    }
  }
  throw Refused{"reshapes take the domain apart without end"};
}

}  // namespace

bool can_plan(const ir::Graph& graph, const Node& node) {
  const std::string_view name = ir::plain_name(node.op);
  if (node.results.size() != 1 || node.results[0] < 0 || !ir::is_pure(node)) return false;
  if (is_reduction(name) || is_cumulative(name)) return ir::tensor_at(node, 0) >= 0;
  return is_movement(name) || is_factory(name) || can_lower(graph, node);
}

std::variant<PlannedKernel, std::string> plan_kernel(const PlanContext& context, const KernelRequest& request) {
  try {
    PlannedKernel planned;
    planned.spec = plan(context, request);
    planned.cost = estimate_cost(planned.spec, context.graph.values, context.hints);
    return planned;
  } catch (const Refused& refused) {
    return refused.reason;
  }
}

}  // namespace lathe::passes
