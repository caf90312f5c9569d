#include "core/compile/passes/rewriter.h"

#include <utility>

#include "core/compile/ir/operands.h"

namespace lathe::passes {

namespace {
std::size_t at(ir::ValueId id) {
  return static_cast<std::size_t>(id);
}

// Every place outside the nodes where the graph names a value that a node may define.
template <class Graph, class F>
void for_each_listed(Graph& graph, F&& visit) {
  for (auto* list : {&graph.outputs, &graph.input_gradients, &graph.parameter_gradients}) {
    for (auto& id : *list) visit(id);
  }
  for (auto& write : graph.write_backs) visit(write.value);
  for (auto& symbol : graph.symbols) visit(symbol.value);
}
}  // namespace

Rewriter::Rewriter(ir::Graph& graph) : graph_(graph), old_(std::move(graph.nodes)), moved_(old_.size(), -1) {
  graph_.nodes.clear();
}

Rewriter::~Rewriter() {
  std::erase_if(graph_.breaks, [&](const ir::Break& found) { return moved_[at(found.node)] < 0; });
  for (ir::Break& found : graph_.breaks) found.node = moved_[at(found.node)];
}

void Rewriter::append(ir::Node node) {
  const auto index = static_cast<std::int32_t>(graph_.nodes.size());
  for (const ir::ValueId id : node.results) {
    if (id >= 0) graph_.values[at(id)].index = index;
  }
  graph_.nodes.push_back(std::move(node));
}

void Rewriter::keep(std::size_t old_node) {
  moved_[old_node] = static_cast<std::int32_t>(graph_.nodes.size());
  append(old_[old_node]);
}

void Rewriter::replace(std::size_t old_node) {
  backward_ = old_[old_node].backward;
  for (const ir::ValueId id : old_[old_node].results) {
    if (id >= 0) device_ = value(id).device;
  }
}

ir::ValueId Rewriter::make(std::string op, std::vector<ir::Operand> operands, ir::DType dtype,
                           std::vector<ir::Size> sizes, std::vector<ir::Size> strides) {
  const auto id = static_cast<ir::ValueId>(graph_.values.size());
  graph_.values.push_back({dtype, device_, std::move(sizes), std::move(strides), ir::Origin::node, -1});
  define(id, std::move(op), std::move(operands));
  return id;
}

void Rewriter::define(ir::ValueId result, std::string op, std::vector<ir::Operand> operands) {
  ir::Node node;
  node.op = std::move(op);
  node.operands = std::move(operands);
  node.results = {result};
  node.backward = backward_;
  append(std::move(node));
}

void substitute(ir::Graph& graph, const std::vector<ir::ValueId>& replacement) {
  const auto replace = [&replacement](ir::ValueId& id) {
    if (id >= 0) id = replacement[at(id)];
  };
  for (ir::Node& node : graph.nodes) {
    for (ir::Operand& operand : node.operands) {
      for (ir::ValueId& id : operand.values) replace(id);
    }
  }
  for_each_listed(graph, replace);
}

const ir::Node* definition(const ir::Graph& graph, ir::ValueId id) {
  const ir::Value& value = graph.values[at(id)];
  return value.origin == ir::Origin::node && value.index >= 0 ? &graph.nodes[at(value.index)] : nullptr;
}

std::vector<std::int32_t> count_readers(const ir::Graph& graph) {
  std::vector<std::int32_t> readers(graph.values.size(), 0);
  for (const ir::Node& node : graph.nodes) {
    ir::for_each_read(node, [&](ir::ValueId id) { ++readers[at(id)]; });
  }
  for_each_listed(graph, [&](ir::ValueId id) {
    if (id >= 0) ++readers[at(id)];
  });
  return readers;
}

std::vector<bool> find_results(const ir::Graph& graph) {
  std::vector<bool> results(graph.values.size(), false);
  const auto mark = [&](ir::ValueId id) {
    if (id >= 0) results[at(id)] = true;
  };
  for (const auto* list : {&graph.outputs, &graph.input_gradients, &graph.parameter_gradients}) {
    for (const ir::ValueId id : *list) mark(id);
  }
  for (const ir::WriteBack& write : graph.write_backs) mark(write.value);
  return results;
}

}  // namespace lathe::passes
