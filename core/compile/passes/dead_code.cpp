#include "core/compile/passes/dead_code.h"

#include <vector>

namespace lathe::passes {

bool remove_dead_code(ir::Graph& graph) {
  std::vector<bool> live(graph.values.size(), false);
  const auto mark = [&live](ir::ValueId id) {
    if (id >= 0) live[static_cast<std::size_t>(id)] = true;
  };
  for (const auto* list : {&graph.outputs, &graph.input_gradients, &graph.parameter_gradients}) {
    for (const ir::ValueId id : *list) mark(id);
  }
  for (const ir::WriteBack& write : graph.write_backs) mark(write.value);
  for (const ir::Symbol& symbol : graph.symbols) mark(symbol.value);  // a data symbol's producer gives its size

  // Nodes only read earlier nodes, so one backward sweep reaches everything.
  std::vector<bool> keep(graph.nodes.size(), false);
  for (std::size_t i = graph.nodes.size(); i-- > 0;) {
    const ir::Node& node = graph.nodes[i];
    keep[i] = node.draw >= 0 || node.read.has_value();
    for (const ir::ValueId id : node.results) keep[i] = keep[i] || (id >= 0 && live[static_cast<std::size_t>(id)]);
    if (!keep[i]) continue;
    for (const ir::Operand& operand : node.operands) {
      for (const ir::ValueId id : operand.values) mark(id);
    }
  }
  return graph.keep_only(keep);
}

}  // namespace lathe::passes
