#include "core/compile/passes/fuse.h"

#include <algorithm>
#include <set>

#include "core/base/error.h"
#include "core/compile/ir/operands.h"
#include "core/compile/ir/ops.h"
#include "core/compile/passes/fusion_groups.h"
#include "core/compile/passes/kernel_name.h"

namespace lathe::passes {

using ir::Step;
using ir::ValueId;

namespace {

std::size_t at(std::int32_t id) {
  return static_cast<std::size_t>(id);
}

class Scheduler {
 public:
  Scheduler(const ir::Graph& graph, std::span<const std::int32_t> nodes, const std::vector<ValueId>& outputs,
            const FusionGroups& groups)
      : graph_(graph), groups_(groups), place_(graph.nodes.size(), 0) {
    for (std::size_t i = 0; i < nodes.size(); ++i) place_[at(nodes[i])] = i;
    program_.outputs = outputs;
    std::erase(program_.outputs, -1);
    program_.not_fused = groups.not_fused();
  }

  ir::Program run() {
    for (const std::size_t unit : order()) emit(unit);
    for (const ValueId id : program_.outputs) show(id);
    find_lifetimes();
    return std::move(program_);
  }

 private:
  std::vector<std::size_t> order() const;
  void emit(std::size_t unit);
  void show(ValueId id);
  std::vector<ValueId> reads(const Step& step) const;
  std::vector<ValueId> makes(const Step& step) const;
  void find_lifetimes();

  const ir::Graph& graph_;
  const FusionGroups& groups_;
  std::vector<std::size_t> place_;  // by node: in order of execution
  std::set<std::int32_t> shown_;    // views that have their step
  ir::Program program_;
};

// Units after all that they need; of those that could run, the one whose last node was recorded first.
std::vector<std::size_t> Scheduler::order() const {
  const auto& units = groups_.units();
  std::vector<std::size_t> missing(units.size(), 0);
  std::vector<std::vector<std::size_t>> next(units.size());
  std::set<std::pair<std::size_t, std::size_t>> ready;  // place, unit
  const auto add = [&](std::size_t unit) { ready.emplace(place_[at(units[unit].nodes.back())], unit); };
  std::size_t left = 0;
  for (std::size_t unit = 0; unit < units.size(); ++unit) {
    if (units[unit].nodes.empty()) continue;
    ++left;
    missing[unit] = units[unit].needs.size();
    for (const std::size_t needed : units[unit].needs) next[needed].push_back(unit);
    if (missing[unit] == 0) add(unit);
  }
  std::vector<std::size_t> result;
  while (!ready.empty()) {
    const std::size_t unit = ready.begin()->second;
    ready.erase(ready.begin());
    result.push_back(unit);
    for (const std::size_t reader : next[unit]) {
      if (--missing[reader] == 0) add(reader);
    }
  }
  if (result.size() != left) throw Error(ErrorKind::internal, "kernels need one another in a circle");
  return result;
}

// Steps for the views that a value goes through.
void Scheduler::show(ValueId id) {
  const std::int32_t node = groups_.context().made_by[at(id)];
  if (node < 0 || groups_.role(node) != FusionGroups::Role::view || !shown_.insert(node).second) return;
  show(ir::tensor_at(graph_.nodes[at(node)], 0));
  program_.steps.push_back({Step::Kind::view, node, {}});
}

void Scheduler::emit(std::size_t index) {
  const FusionGroups::Unit& unit = groups_.units()[index];
  Step step;
  if (unit.kernel) {
    step = {Step::Kind::kernel, static_cast<std::int32_t>(program_.kernels.size()), {}};
    ir::KernelSpec kernel = unit.kernel->spec;
    kernel.name = kernel_name(kernel, graph_.values);
    for (const ValueId id : kernel.inputs) show(id);
    program_.kernels.push_back(std::move(kernel));
  } else {
    step = {Step::Kind::library, unit.nodes.front(), {}};
    ir::for_each_read(graph_.nodes[at(step.index)], [&](ValueId id) { show(id); });
  }
  program_.steps.push_back(std::move(step));
}

std::vector<ValueId> Scheduler::reads(const Step& step) const {
  if (step.kind == Step::Kind::kernel) return program_.kernels[at(step.index)].inputs;
  std::vector<ValueId> ids;
  ir::for_each_read(graph_.nodes[at(step.index)], [&](ValueId id) { ids.push_back(id); });
  return ids;
}

std::vector<ValueId> Scheduler::makes(const Step& step) const {
  if (step.kind == Step::Kind::kernel) return program_.kernels[at(step.index)].outputs;
  std::vector<ValueId> ids = graph_.nodes[at(step.index)].results;
  std::erase(ids, -1);
  return ids;
}

// What each step reads for the last time: also the value that a view shows lives as long as the view is read.
void Scheduler::find_lifetimes() {
  std::set<ValueId> stays, made;
  for (const ValueId id : program_.outputs) stays.insert({id, groups_.shown(id)});
  std::vector<std::int32_t> last(graph_.values.size(), -1);
  const auto use = [&](ValueId id, std::size_t step) {
    last[at(id)] = static_cast<std::int32_t>(step);
    for (std::int32_t node = groups_.context().made_by[at(id)];
         node >= 0 && groups_.role(node) == FusionGroups::Role::view; node = groups_.context().made_by[at(id)]) {
      id = ir::tensor_at(graph_.nodes[at(node)], 0);
      last[at(id)] = static_cast<std::int32_t>(step);
    }
  };
  for (std::size_t i = 0; i < program_.steps.size(); ++i) {
    for (const ValueId id : reads(program_.steps[i])) {
      if (!made.contains(id)) program_.inputs.push_back(id);
      made.insert(id);
      use(id, i);
    }
    for (const ValueId id : makes(program_.steps[i])) {
      made.insert(id);
      use(id, i);
    }
  }
  for (const ValueId id : program_.outputs) {
    if (!made.contains(id)) program_.inputs.push_back(id);  // an input handed through
    made.insert(id);
  }
  for (std::size_t id = 0; id < last.size(); ++id) {
    const auto value = static_cast<ValueId>(id);
    if (last[id] >= 0 && made.contains(value) && !stays.contains(value))
      program_.steps[at(last[id])].frees.push_back(value);
  }
}

}  // namespace

ir::Program fuse(const ir::Graph& graph, std::span<const std::int32_t> nodes, const std::vector<ValueId>& outputs) {
  FusionGroups groups(graph, nodes, outputs, FusionGroups::Kernels::all);
  groups.merge();
  return Scheduler(graph, nodes, outputs, groups).run();
}

ir::Program replay(const ir::Graph& graph, std::span<const std::int32_t> nodes, const std::vector<ValueId>& outputs) {
  const FusionGroups groups(graph, nodes, outputs, FusionGroups::Kernels::none);
  return Scheduler(graph, nodes, outputs, groups).run();
}

}  // namespace lathe::passes
