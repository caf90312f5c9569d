#include "core/compile/passes/fusion_groups.h"

#include <algorithm>
#include <array>

#include "core/compile/ir/operands.h"
#include "core/compile/ir/ops.h"
#include "core/compile/ir/shape.h"
#include "core/compile/passes/fold.h"

namespace lathe::passes {

using ir::Node;
using ir::OpKind;
using ir::ValueId;

namespace {

std::size_t at(std::int32_t id) {
  return static_cast<std::size_t>(id);
}

bool reaches_memory_unchanged(const Node& node) {
  return ir::kind(node.op) == OpKind::view && ir::tensor_at(node, 0) >= 0;
}

}  // namespace

FusionGroups::FusionGroups(const ir::Graph& graph, std::span<const std::int32_t> nodes,
                           const std::vector<ValueId>& outputs, Kernels kernels)
    : graph_(graph),
      nodes_(nodes.begin(), nodes.end()),
      outputs_(outputs),
      context_{graph, std::vector<std::int32_t>(graph.values.size(), -1), std::vector<bool>(graph.nodes.size(), false),
               ir::hints(graph)},
      role_(graph.nodes.size(), Role::library),
      refused_(graph.nodes.size(), kernels == Kernels::none) {
  for (const std::int32_t node : nodes_) {
    for (const ValueId id : graph.nodes[at(node)].results) {
      if (id >= 0) context_.made_by[at(id)] = node;
    }
  }
  // Each refusal may make values needed in memory that were computed again by their readers, so until none is left.
  do {
    choose_roles();
  } while (refuse_unplannable());
  make_units();
}

ValueId FusionGroups::shown(ValueId id) const {
  for (std::int32_t node = context_.made_by[at(id)]; node >= 0 && role_[at(node)] == Role::view;
       node = context_.made_by[at(id)])
    id = ir::tensor_at(graph_.nodes[at(node)], 0);
  return id;
}

void FusionGroups::find_memory_needs() {
  needs_memory_.assign(graph_.values.size(), false);
  for (const ValueId id : outputs_) {
    if (id >= 0) needs_memory_[at(shown(id))] = true;
  }
  for (const std::int32_t node : nodes_) {
    if (role_[at(node)] != Role::library) continue;
    ir::for_each_read(graph_.nodes[at(node)], [&](ValueId id) { needs_memory_[at(shown(id))] = true; });
  }
}

// One tensor in, little to do, no fewer bytes in than out: as well computed again as read again.
bool FusionGroups::is_cheap(const Node& node) const {
  constexpr std::array<std::string_view, 14> names = {"_to_copy",  "abs",   "add",  "clamp", "clamp_max",
                                                      "clamp_min", "clone", "div",  "fill",  "logical_not",
                                                      "mul",       "neg",   "rsub", "sub"};
  if (ir::kind(node.op) == OpKind::factory) return true;
  const std::string_view name = ir::plain_name(node.op);
  if (std::find(names.begin(), names.end(), name) == names.end()) return false;
  std::set<ValueId> read;
  ir::for_each_read(node, [&](ValueId id) {
    if (!uniform_number(graph_, id)) read.insert(id);
  });
  if (read.size() != 1) return false;
  const ir::Value &from = graph_.values[at(*read.begin())], &to = graph_.values[at(node.results[0])];
  const std::int32_t maker = context_.made_by[at(shown(*read.begin()))];
  const bool in_memory_anyway = maker < 0 || !can_plan(graph_, graph_.nodes[at(maker)]) || refused_[at(maker)];
  return from.sizes == to.sizes && (in_memory_anyway || ir::byte_size(from.dtype) <= ir::byte_size(to.dtype));
}

void FusionGroups::choose_roles() {
  for (const std::int32_t node : nodes_) {
    const Node& call = graph_.nodes[at(node)];
    role_[at(node)] = reaches_memory_unchanged(call)                  ? Role::view
                      : !refused_[at(node)] && can_plan(graph_, call) ? Role::fused
                                                                      : Role::library;
    context_.inlined[at(node)] = false;
  }
  find_memory_needs();
  for (const std::int32_t node : nodes_) {
    if (role_[at(node)] != Role::fused) continue;
    const Node& call = graph_.nodes[at(node)];
    if (needs_memory_[at(call.results[0])]) {
      if (ir::kind(call.op) == OpKind::factory) role_[at(node)] = Role::library;  // the library fills memory as well
      continue;
    }
    if (!is_cheap(call)) continue;
    role_[at(node)] = Role::inlined;
    context_.inlined[at(node)] = true;
  }
}

// Nodes that no kernel can compute even by themselves become library calls. Returns whether there was one; else each
// has its kernel.
bool FusionGroups::refuse_unplannable() {
  bool any = false;
  alone_.assign(graph_.nodes.size(), std::nullopt);
  for (const std::int32_t node : nodes_) {
    const Node& call = graph_.nodes[at(node)];
    const OpKind kind = ir::kind(call.op);
    const bool fusible = kind == OpKind::pointwise || kind == OpKind::row || kind == OpKind::movement;
    std::string reason;
    if (role_[at(node)] == Role::fused) {
      auto planned = plan_kernel(context_, {{node}, {call.results[0]}});
      if (const auto* why = std::get_if<std::string>(&planned)) {
        reason = *why;
      } else {
        alone_[at(node)] = std::get<PlannedKernel>(std::move(planned));
      }
    } else if (role_[at(node)] == Role::library && fusible && !refused_[at(node)]) {
      reason = "no kernel computes this operator";
    }
    if (reason.empty()) continue;
    refused_[at(node)] = true;
    not_fused_.push_back({node, reason});
    any = any || role_[at(node)] == Role::fused;
  }
  return any;
}

void FusionGroups::collect_sources(ValueId id, std::set<ValueId>& sources) const {
  const std::int32_t node = context_.made_by[at(id)];
  if (node < 0 || role_[at(node)] == Role::fused || role_[at(node)] == Role::library) {
    sources.insert(id);
    return;
  }
  if (role_[at(node)] == Role::view) return collect_sources(ir::tensor_at(graph_.nodes[at(node)], 0), sources);
  ir::for_each_read(graph_.nodes[at(node)], [&](ValueId read) { collect_sources(read, sources); });
}

void FusionGroups::make_units() {
  unit_of_.assign(graph_.nodes.size(), 0);
  sources_.resize(graph_.nodes.size());
  readers_.resize(graph_.values.size());
  std::optional<std::size_t> last_effect;
  for (const std::int32_t node : nodes_) {
    if (role_[at(node)] == Role::view || role_[at(node)] == Role::inlined) continue;
    const std::size_t index = units_.size();
    unit_of_[at(node)] = index;
    Unit unit;
    unit.nodes = {node};
    ir::for_each_read(graph_.nodes[at(node)], [&](ValueId id) { collect_sources(id, sources_[at(node)]); });
    for (const ValueId id : sources_[at(node)]) {
      readers_[at(id)].push_back(node);
      if (context_.made_by[at(id)] >= 0) unit.needs.insert(unit_of_[at(context_.made_by[at(id)])]);
    }
    if (role_[at(node)] == Role::fused) unit.kernel = std::move(alone_[at(node)]);
    // Draws and reads happen in the order in which eager does them.
    if (!ir::is_pure(graph_.nodes[at(node)])) {
      if (last_effect) unit.needs.insert(*last_effect);
      last_effect = index;
    }
    units_.push_back(std::move(unit));
  }
}

std::vector<ValueId> FusionGroups::stores_of(const std::vector<std::int32_t>& nodes) const {
  std::vector<ValueId> stores;
  for (const std::int32_t node : nodes) {
    const ValueId id = graph_.nodes[at(node)].results[0];
    const auto& readers = readers_[at(id)];
    const bool read_outside = std::any_of(readers.begin(), readers.end(), [&](std::int32_t reader) {
      return !std::binary_search(nodes.begin(), nodes.end(), reader);
    });
    if (needs_memory_[at(id)] || read_outside) stores.push_back(id);
  }
  return stores;
}

KernelRequest FusionGroups::request(const std::vector<std::int32_t>& nodes) const {
  KernelRequest request{nodes, stores_of(nodes)};
  if (request.stores.empty()) request.stores.push_back(graph_.nodes[at(nodes.back())].results[0]);
  return request;
}

// Whether `unit` reads what `on` makes, directly or through others; the direct way is left out for `except`.
bool FusionGroups::depends(std::size_t unit, std::size_t on, std::size_t except) const {
  std::vector<bool> seen(units_.size(), false);
  std::vector<std::size_t> waiting = {unit};
  while (!waiting.empty()) {
    const std::size_t current = waiting.back();
    waiting.pop_back();
    for (const std::size_t needed : units_[current].needs) {
      if (needed == on) {
        if (current != except) return true;
        continue;
      }
      if (seen[needed]) continue;
      seen[needed] = true;
      waiting.push_back(needed);
    }
  }
  return false;
}

// Makes one unit of two where a kernel can compute both, none needs the other by way of a third, and it pays.
bool FusionGroups::try_merge(std::size_t first, std::size_t second) {
  Unit &a = units_[first], &b = units_[second];
  if (depends(second, first, second) || depends(first, second, first)) return false;
  std::vector<std::int32_t> nodes;
  std::merge(a.nodes.begin(), a.nodes.end(), b.nodes.begin(), b.nodes.end(), std::back_inserter(nodes));
  const auto planned = plan_kernel(context_, request(nodes));
  const auto* kernel = std::get_if<PlannedKernel>(&planned);
  if (kernel == nullptr || kernel->cost > a.kernel->cost + b.kernel->cost) return false;
  a.kernel = *kernel;
  a.nodes = std::move(nodes);
  a.needs.insert(b.needs.begin(), b.needs.end());
  a.needs.erase(first);
  a.needs.erase(second);
  for (const std::int32_t node : b.nodes) unit_of_[at(node)] = first;
  b = Unit();
  for (Unit& unit : units_) {
    if (unit.needs.erase(second) > 0) unit.needs.insert(first);
  }
  return true;
}

void FusionGroups::merge_with_producers() {
  for (std::size_t start = 0; start < units_.size(); ++start) {
    if (!units_[start].kernel) continue;
    std::size_t unit = start;
    std::set<std::size_t> tried;
    for (bool merged = true; merged;) {
      merged = false;
      const std::set<std::size_t> needs = units_[unit].needs;
      for (auto producer = needs.rbegin(); producer != needs.rend() && !merged; ++producer) {
        if (!units_[*producer].kernel || !tried.insert(*producer).second) continue;
        merged = try_merge(*producer, unit);
        if (merged) {
          unit = *producer;
          tried.clear();
        }
      }
    }
  }
}

// Kernels that read the same value, the largest values first.
void FusionGroups::merge_siblings() {
  std::vector<std::pair<std::int64_t, ValueId>> shared;
  for (std::size_t id = 0; id < readers_.size(); ++id) {
    if (readers_[id].size() < 2) continue;
    shared.emplace_back(-ir::byte_count(graph_.values[id]).evaluate(context_.hints), static_cast<ValueId>(id));
  }
  std::sort(shared.begin(), shared.end());
  for (const auto& [size, id] : shared) {
    std::set<std::size_t> units;
    for (const std::int32_t reader : readers_[at(id)]) {
      if (units_[unit_of_[at(reader)]].kernel) units.insert(unit_of_[at(reader)]);
    }
    for (auto first = units.begin(); first != units.end(); ++first) {
      for (auto second = std::next(first); second != units.end();)
        second = try_merge(*first, *second) ? units.erase(second) : std::next(second);
    }
  }
}

void FusionGroups::merge() {
  merge_with_producers();
  merge_siblings();
}

}  // namespace lathe::passes
