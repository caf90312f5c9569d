#pragma once

#include <algorithm>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/compile/passes/expr_builder.h"
#include "core/compile/passes/index_map.h"
#include "core/compile/passes/loop_plan.h"

namespace lathe::passes {

// Operators that are neither pointwise nor views and that a kernel can compute.
bool is_reduction(std::string_view name);
bool is_cumulative(std::string_view name);
bool is_movement(std::string_view name);
bool is_factory(std::string_view name);

// Which dimensions a reduction or running sum goes along; none named: all.
std::vector<bool> named_dimensions(const ir::Graph& graph, const ir::Node& node);
// The dimension that it goes along where that is the last which is not 1, and it alone.
std::optional<std::size_t> row_dimension(const ir::Graph& graph, const ir::Node& node);

// One attempt to plan a kernel over one domain. Throws Refused or SplitNeeded.
class KernelPlanner {
 public:
  KernelPlanner(const PlanContext& context, const KernelRequest& request, Domain domain)
      : context_(context), request_(request), domain_(std::move(domain)) {}

  ir::KernelSpec run();

 private:
  struct Evaluated {
    IndexMap map;
    ExprId condition;
    ExprId expr;
  };

  const ir::Value& value(ir::ValueId id) const { return context_.graph.values[static_cast<std::size_t>(id)]; }
  std::int32_t row() const { return static_cast<std::int32_t>(domain_.sizes.size()) - 1; }
  bool computes(std::int32_t node) const {
    return context_.inlined[static_cast<std::size_t>(node)] ||
           std::binary_search(request_.nodes.begin(), request_.nodes.end(), node);
  }

  void store(ir::ValueId id);
  IndexMap place_of(ir::ValueId id, bool once_a_row) const;
  IndexMap own_indices(std::size_t dims) const;

  ExprId evaluate(ir::ValueId id, const IndexMap& map, ExprId condition);
  ExprId compute(ir::ValueId id, std::int32_t node, const IndexMap& map, ExprId condition);
  ExprId through_view(ir::ValueId id, std::int32_t node, const IndexMap& map, ExprId condition);
  ExprId load(ir::ValueId id, const IndexMap& map, ExprId condition);
  ExprId pointwise(const ir::Node& node, const IndexMap& map, ExprId condition);
  ExprId reduction(const ir::Node& node, const IndexMap& map, ExprId condition);
  ExprId running_sum(const ir::Node& node, const IndexMap& map, ExprId condition);
  ExprId factory(const ir::Node& node, const IndexMap& map);
  ExprId movement(const ir::Node& node, const IndexMap& map, ExprId condition);
  ExprId concatenation(const ir::Node& node, const IndexMap& map, ExprId condition);
  ExprId slice_backward(const ir::Node& node, const IndexMap& map, ExprId condition);
  ExprId select_backward(const ir::Node& node, const IndexMap& map, ExprId condition);
  ExprId padding(const ir::Node& node, const IndexMap& map, ExprId condition);

  ExprId index_expr(const Affine& index);
  bool always_at_least(const Affine& index, const ir::Size& bound) const;
  bool always_below(const Affine& index, const ir::Size& bound) const;
  // index >= from and index < to, and what held before; −1 where that is always so.
  ExprId between(const Affine& index, const ir::Size& from, const ir::Size& to, ExprId condition);
  bool inside(const IndexMap& map, const std::vector<ir::Size>& sizes) const;
  bool depends_on_row(const IndexMap& map) const;

  const PlanContext& context_;
  const KernelRequest& request_;
  Domain domain_;
  ExprBuilder builder_;
  std::unordered_map<ir::ValueId, std::vector<Evaluated>> evaluated_;
  std::vector<ir::Store> stores_;
};

}  // namespace lathe::passes
