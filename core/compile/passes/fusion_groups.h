#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "core/compile/ir/program.h"
#include "core/compile/passes/loop_plan.h"

namespace lathe::passes {

// Which nodes of a program run together, before they are put in order.
class FusionGroups {
 public:
  enum class Kernels : std::uint8_t { all, none };
  FusionGroups(const ir::Graph& graph, std::span<const std::int32_t> nodes, const std::vector<ir::ValueId>& outputs,
               Kernels kernels);

  enum class Role : std::uint8_t { view, inlined, fused, library };
  struct Unit {
    std::vector<std::int32_t> nodes;  // ascending in order of execution; empty once merged into another
    std::set<std::size_t> needs;      // units whose values it reads
    std::optional<PlannedKernel> kernel;
  };

  void merge();

  const std::vector<Unit>& units() const { return units_; }
  const PlanContext& context() const { return context_; }
  Role role(std::int32_t node) const { return role_[static_cast<std::size_t>(node)]; }
  const std::vector<ir::NotFused>& not_fused() const { return not_fused_; }
  // The value whose memory a chain of views shows.
  ir::ValueId shown(ir::ValueId id) const;

 private:
  void choose_roles();
  void find_memory_needs();
  bool is_cheap(const ir::Node& node) const;
  bool refuse_unplannable();
  void make_units();
  void collect_sources(ir::ValueId id, std::set<ir::ValueId>& sources) const;
  std::vector<ir::ValueId> stores_of(const std::vector<std::int32_t>& nodes) const;
  KernelRequest request(const std::vector<std::int32_t>& nodes) const;
  bool depends(std::size_t unit, std::size_t on, std::size_t except) const;
  bool try_merge(std::size_t first, std::size_t second);
  void merge_with_producers();
  void merge_siblings();

  const ir::Graph& graph_;
  std::vector<std::int32_t> nodes_;
  std::vector<ir::ValueId> outputs_;
  PlanContext context_;
  std::vector<Role> role_;                           // by node
  std::vector<bool> refused_;                        // by node: no kernel computes it
  std::vector<bool> needs_memory_;                   // by value: a library call or the caller reads it
  std::vector<std::size_t> unit_of_;                 // by node
  std::vector<std::set<ir::ValueId>> sources_;       // by node: values that must be in memory or in its kernel
  std::vector<std::vector<std::int32_t>> readers_;   // by value: nodes that have it among their sources
  std::vector<std::optional<PlannedKernel>> alone_;  // by node: its kernel by itself
  std::vector<Unit> units_;
  std::vector<ir::NotFused> not_fused_;
};

}  // namespace lathe::passes
