#include "core/compile/passes/partition.h"

#include <algorithm>
#include <set>

#include "core/base/error.h"
#include "core/base/format.h"
#include "core/compile/ir/operands.h"
#include "core/compile/ir/ops.h"
#include "core/compile/ir/shape.h"
#include "core/compile/passes/min_cut.h"
#include "core/compile/passes/rewriter.h"

namespace lathe::passes {

using ir::Node;
using ir::OpKind;
using ir::ValueId;

namespace {

std::size_t at(std::int32_t id) {
  return static_cast<std::size_t>(id);
}

class Partitioner {
 public:
  explicit Partitioner(const ir::Graph& graph)
      : graph_(graph), hints_(ir::hints(graph)), made_by_(graph.values.size(), -1) {
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
      for (const ValueId id : graph.nodes[i].results) {
        if (id >= 0) made_by_[at(id)] = static_cast<std::int32_t>(i);
      }
    }
    find_sides();
    find_wanted();
    find_stored();
  }

  ir::Partition build(std::set<ValueId> saved) const;
  std::set<ValueId> save_everything() const;
  // The smallest cut where the marked nodes do not run twice.
  std::set<ValueId> cut(const std::vector<bool>& once, bool inputs_are_free) const;
  std::set<ValueId> within(double budget) const;

  std::vector<bool> never_twice(Recompute rung) const;

 private:
  bool is_view(const Node& node) const { return ir::kind(node.op) == OpKind::view; }
  bool is_product(const Node& node) const { return ir::is_product(node.op) || ir::is_attention(node.op); }
  const ir::Value& value(ValueId id) const { return graph_.values[at(id)]; }
  std::int64_t bytes(ValueId id) const { return ir::byte_count(value(id)).evaluate(hints_); }
  // Index of the node of the forward that defines the value, or −1.
  std::int32_t maker(ValueId id) const {
    const std::int32_t node = made_by_[at(id)];
    return node >= 0 && !of_backward_[at(node)] ? node : -1;
  }
  ValueId shown(ValueId id) const;
  double work(const Node& node) const;
  std::int64_t saved_bytes(const std::set<ValueId>& saved) const;

  void find_sides();
  void find_wanted();
  void find_stored();
  void connect(FlowNetwork& network, const std::vector<bool>& once, bool inputs_are_free) const;
  std::vector<std::int32_t> forward_nodes(const std::set<ValueId>& saved) const;
  void backward_nodes(const std::set<ValueId>& saved, ir::Partition& result) const;

  const ir::Graph& graph_;
  std::vector<std::int64_t> hints_;
  std::vector<std::int32_t> made_by_;  // value: the node that defines it, −1 where none of those left does
  std::vector<bool> of_backward_;      // node: depends on an incoming gradient or was recorded in the backward
  std::vector<bool> live_backward_;    // node of the backward that a gradient needs
  std::vector<ValueId> wanted_;        // of the forward, inputs included, that the backward reads
  std::vector<bool> stored_;           // value of the forward that lies in memory whether or not it is saved
};

// What depends on an incoming gradient, and what was recorded for gradients alone, runs in the backward.
void Partitioner::find_sides() {
  std::vector<bool> depends(graph_.values.size(), false);
  for (const ValueId id : graph_.tangents) depends[at(id)] = true;
  for (const Node& node : graph_.nodes) {
    bool backward = node.backward;
    ir::for_each_read(node, [&](ValueId id) { backward = backward || depends[at(id)]; });
    for (const ValueId id : node.results) {
      if (id >= 0) depends[at(id)] = backward;
    }
    of_backward_.push_back(backward);
  }
}

void Partitioner::find_wanted() {
  std::vector<bool> needed(graph_.values.size(), false);
  for (const auto* list : {&graph_.input_gradients, &graph_.parameter_gradients}) {
    for (const ValueId id : *list) {
      if (id >= 0) needed[at(id)] = true;
    }
  }
  live_backward_.assign(graph_.nodes.size(), false);
  for (std::size_t i = graph_.nodes.size(); i-- > 0;) {
    if (!of_backward_[i]) continue;
    const Node& node = graph_.nodes[i];
    bool live = node.draw >= 0 || node.read.has_value();
    for (const ValueId id : node.results) live = live || (id >= 0 && needed[at(id)]);
    if (!live) continue;
    live_backward_[i] = true;
    ir::for_each_read(node, [&](ValueId id) { needed[at(id)] = true; });
  }
  for (std::size_t id = 0; id < graph_.values.size(); ++id) {
    const ir::Value& item = graph_.values[id];
    if (!needed[id] || item.origin == ir::Origin::tangent) continue;
    if (made_by_[id] < 0 || !of_backward_[at(made_by_[id])]) wanted_.push_back(static_cast<ValueId>(id));
  }
}

// What a library call makes or reads, and what leaves the graph; others live inside a kernel unless they are saved.
void Partitioner::find_stored() {
  stored_.assign(graph_.values.size(), false);
  for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
    const Node& node = graph_.nodes[i];
    const OpKind kind = ir::kind(node.op);
    if (of_backward_[i] || (kind != OpKind::library && kind != OpKind::factory)) continue;
    ir::for_each_read(node, [&](ValueId id) { stored_[at(shown(id))] = true; });
    for (const ValueId id : node.results) {
      if (id >= 0) stored_[at(id)] = true;
    }
  }
  for (const ValueId id : graph_.outputs) stored_[at(shown(id))] = true;
}

// The value whose memory a view shows; itself for any other.
ValueId Partitioner::shown(ValueId id) const {
  for (std::int32_t node = maker(id); node >= 0 && is_view(graph_.nodes[at(node)]); node = maker(id)) {
    const ValueId operand = ir::tensor_at(graph_.nodes[at(node)], 0);
    if (operand < 0) break;
    id = operand;
  }
  return id;
}

std::set<ValueId> Partitioner::save_everything() const {
  std::set<ValueId> saved;
  for (const ValueId id : wanted_) {
    if (maker(shown(id)) >= 0) saved.insert(shown(id));
  }
  return saved;
}

std::int64_t Partitioner::saved_bytes(const std::set<ValueId>& saved) const {
  std::int64_t sum = 0;
  for (const ValueId id : saved) sum += bytes(id);
  return sum;
}

std::vector<bool> Partitioner::never_twice(Recompute rung) const {
  std::vector<bool> once(graph_.nodes.size(), false);
  for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
    const Node& node = graph_.nodes[i];
    const OpKind kind = ir::kind(node.op);
    once[i] = !ir::is_pure(node);
    if (rung == Recompute::cheap) once[i] = once[i] || kind == OpKind::library || kind == OpKind::row;
    if (rung == Recompute::products) once[i] = once[i] || ir::is_attention(node.op);
  }
  return once;
}

// Two nodes a value, what goes in and what comes out; the edge between them is cut where the value is saved.
void Partitioner::connect(FlowNetwork& network, const std::vector<bool>& once, bool inputs_are_free) const {
  const std::size_t source = 2 * graph_.values.size(), sink = source + 1;
  for (std::size_t id = 0; id < graph_.values.size(); ++id) {
    const ir::Value& item = graph_.values[id];
    const std::int32_t node = maker(static_cast<ValueId>(id));
    const bool outside =
        item.origin == ir::Origin::parameter || item.origin == ir::Origin::constant || item.origin == ir::Origin::input;
    if (node < 0 && !outside) continue;
    // Parameters and constants live anyway; an input lives only for us, but checkpointing keeps it as well.
    std::int64_t capacity = 1;
    if (item.origin == ir::Origin::input && !inputs_are_free) capacity += bytes(static_cast<ValueId>(id));
    if (node >= 0) {
      // Saving what would not be stored otherwise costs a write as well: rather something as large that is.
      const std::int64_t size = bytes(static_cast<ValueId>(id));
      capacity = is_view(graph_.nodes[at(node)]) ? FlowNetwork::kUnlimited : 1 + size + (stored_[id] ? 0 : size / 8);
      if (once[at(node)]) network.add_edge(source, 2 * id, FlowNetwork::kUnlimited);
      ir::for_each_read(graph_.nodes[at(node)],
                        [&](ValueId read) { network.add_edge(2 * at(read) + 1, 2 * id, FlowNetwork::kUnlimited); });
    } else {
      network.add_edge(source, 2 * id, FlowNetwork::kUnlimited);
    }
    network.add_edge(2 * id, 2 * id + 1, capacity);
  }
  for (const ValueId id : wanted_) network.add_edge(2 * at(id) + 1, sink, FlowNetwork::kUnlimited);
}

std::set<ValueId> Partitioner::cut(const std::vector<bool>& once, bool inputs_are_free) const {
  const std::size_t source = 2 * graph_.values.size(), sink = source + 1;
  FlowNetwork network(sink + 1);
  connect(network, once, inputs_are_free);
  network.run(source, sink);
  const std::vector<bool> beyond = network.sink_side(sink);
  std::set<ValueId> saved;
  for (std::size_t id = 0; id < graph_.values.size(); ++id) {
    const bool is_cut = !beyond[2 * id] && beyond[2 * id + 1];
    if (is_cut && maker(static_cast<ValueId>(id)) >= 0) saved.insert(static_cast<ValueId>(id));
  }
  return saved;
}

// Multiplications and additions, roughly: what decides which products are worth their bytes.
double Partitioner::work(const Node& node) const {
  double elements = 0, inner = 1;
  for (const ValueId id : node.results) {
    if (id >= 0) elements += static_cast<double>(ir::element_count(value(id).sizes).evaluate(hints_));
  }
  const bool adds = ir::plain_name(node.op) == "addmm" || ir::plain_name(node.op) == "baddbmm";
  const ValueId left = ir::tensor_at(node, adds ? 1 : 0);
  if (is_product(node) && left >= 0 && !value(left).sizes.empty()) {
    const auto& sizes = value(left).sizes;
    // Attention multiplies every query with every key: sequence length times two products.
    const std::size_t dim = ir::is_attention(node.op) && sizes.size() > 1 ? sizes.size() - 2 : sizes.size() - 1;
    inner = static_cast<double>(sizes[dim].evaluate(hints_)) * (ir::is_attention(node.op) ? 4.0 : 2.0);
  }
  return elements * inner;
}

// From saving nothing upwards: keep what costs most for its bytes, as long as it fits.
std::set<ValueId> Partitioner::within(double budget) const {
  const double allowed = budget * static_cast<double>(saved_bytes(save_everything()));
  std::set<ValueId> cheap = cut(never_twice(Recompute::cheap), false);
  if (static_cast<double>(saved_bytes(cheap)) <= allowed) return cheap;

  std::vector<bool> once = never_twice(Recompute::all);
  std::set<ValueId> best = cut(once, true);
  const std::vector<bool> costly = never_twice(Recompute::cheap);
  std::vector<std::pair<double, std::size_t>> candidates;
  for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
    if (of_backward_[i] || once[i] || !costly[i]) continue;
    double size = 1;
    for (const ValueId id : graph_.nodes[i].results) size += id >= 0 ? static_cast<double>(bytes(id)) : 0.0;
    candidates.emplace_back(-work(graph_.nodes[i]) / size, i);
  }
  std::sort(candidates.begin(), candidates.end());
  for (const auto& [cost, node] : candidates) {
    once[node] = true;
    std::set<ValueId> saved = cut(once, true);
    if (static_cast<double>(saved_bytes(saved)) <= allowed) {
      best = std::move(saved);
    } else {
      once[node] = false;
    }
  }
  return best;
}

std::vector<std::int32_t> Partitioner::forward_nodes(const std::set<ValueId>& saved) const {
  std::vector<bool> needed(graph_.values.size(), false);
  const auto need = [&needed](ValueId id) {
    if (id >= 0) needed[at(id)] = true;
  };
  for (const ValueId id : graph_.outputs) need(id);
  for (const ir::WriteBack& write : graph_.write_backs) need(write.value);
  for (const ir::Symbol& symbol : graph_.symbols) need(symbol.value);
  for (const ValueId id : saved) need(id);
  std::vector<std::int32_t> nodes;
  for (std::size_t i = graph_.nodes.size(); i-- > 0;) {
    if (of_backward_[i]) continue;
    const Node& node = graph_.nodes[i];
    bool live = node.draw >= 0 || node.read.has_value();
    for (const ValueId id : node.results) live = live || (id >= 0 && needed[at(id)]);
    if (!live) continue;
    nodes.push_back(static_cast<std::int32_t>(i));
    ir::for_each_read(node, need);
  }
  std::reverse(nodes.begin(), nodes.end());
  return nodes;
}

// As recorded, each node that runs again just before its first reader.
void Partitioner::backward_nodes(const std::set<ValueId>& saved, ir::Partition& result) const {
  std::vector<bool> placed(graph_.nodes.size(), false);
  std::set<ValueId> outside;
  const auto pull = [&](const auto& self, ValueId id) -> void {
    if (saved.contains(id)) return;
    if (value(id).origin != ir::Origin::node) {
      if (value(id).origin != ir::Origin::tangent) outside.insert(id);
      return;
    }
    const std::size_t node = at(made_by_[at(id)]);
    if (placed[node] || of_backward_[node]) return;
    if (!ir::is_pure(graph_.nodes[node])) {
      throw Error(ErrorKind::internal, format("the backward needs %{} of {}, which cannot run twice and is not saved",
                                              id, graph_.nodes[node].op));
    }
    ir::for_each_read(graph_.nodes[node], [&](ValueId read) { self(self, read); });
    placed[node] = true;
    result.backward.push_back(static_cast<std::int32_t>(node));
    if (!is_view(graph_.nodes[node])) ++result.recomputed;
    if (is_product(graph_.nodes[node])) ++result.recomputed_products;
  };
  for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
    if (!live_backward_[i]) continue;
    ir::for_each_read(graph_.nodes[i], [&](ValueId read) { pull(pull, read); });
    result.backward.push_back(static_cast<std::int32_t>(i));
  }
  for (const auto* list : {&graph_.input_gradients, &graph_.parameter_gradients}) {
    for (const ValueId id : *list) {
      if (id >= 0) pull(pull, id);
    }
  }
  result.read_outside.assign(outside.begin(), outside.end());
}

ir::Partition Partitioner::build(std::set<ValueId> saved) const {
  ir::Partition result;
  backward_nodes(saved, result);
  // What no node of the backward reads after all need not be kept.
  std::set<ValueId> read;
  for (const std::int32_t node : result.backward)
    ir::for_each_read(graph_.nodes[at(node)], [&](ValueId id) { read.insert(id); });
  for (const auto* list : {&graph_.input_gradients, &graph_.parameter_gradients})
    read.insert(list->begin(), list->end());
  std::erase_if(saved, [&](ValueId id) { return !read.contains(id); });
  result.saved.assign(saved.begin(), saved.end());
  for (const ValueId id : saved) {
    result.saved_bytes = result.saved_bytes + ir::byte_count(value(id));
    result.saved_bytes_at_hint += bytes(id);
  }
  result.forward = forward_nodes(saved);
  return result;
}

}  // namespace

ir::Partition partition(const ir::Graph& graph, const PartitionOptions& options) {
  const Partitioner partitioner(graph);
  if (options.forced_saved) {
    ir::Partition result =
        partitioner.build(std::set<ValueId>(options.forced_saved->begin(), options.forced_saved->end()));
    return result;
  }
  if (!options.rung) return partitioner.build(partitioner.within(std::clamp(options.budget, 0.0, 1.0)));
  if (*options.rung == Recompute::nothing) return partitioner.build(partitioner.save_everything());
  const bool inputs_are_free = *options.rung != Recompute::cheap;
  return partitioner.build(partitioner.cut(partitioner.never_twice(*options.rung), inputs_are_free));
}

}  // namespace lathe::passes
