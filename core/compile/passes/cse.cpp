#include "core/compile/passes/cse.h"

#include <string>
#include <unordered_map>
#include <vector>

#include "core/compile/ir/ops.h"
#include "core/compile/ir/text.h"

namespace lathe::passes {

bool merge_common_subexpressions(ir::Graph& graph) {
  std::vector<ir::ValueId> replacement(graph.values.size());
  for (std::size_t i = 0; i < replacement.size(); ++i) replacement[i] = static_cast<ir::ValueId>(i);
  const auto replaced = [&replacement](ir::ValueId id) {
    return id < 0 ? id : replacement[static_cast<std::size_t>(id)];
  };

  std::unordered_map<std::string, std::size_t> seen;
  std::vector<bool> keep(graph.nodes.size(), true);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    ir::Node& node = graph.nodes[i];
    for (ir::Operand& operand : node.operands) {
      for (ir::ValueId& id : operand.values) id = replaced(id);
    }
    if (!ir::is_pure(node)) continue;
    const auto [found, is_new] = seen.emplace(ir::print_call(node), i);
    if (is_new) continue;
    const ir::Node& first = graph.nodes[found->second];
    if (first.results.size() != node.results.size()) continue;
    keep[i] = false;
    for (std::size_t k = 0; k < node.results.size(); ++k) {
      if (node.results[k] >= 0) replacement[static_cast<std::size_t>(node.results[k])] = first.results[k];
    }
  }
  for (auto* list : {&graph.outputs, &graph.input_gradients, &graph.parameter_gradients}) {
    for (ir::ValueId& id : *list) id = replaced(id);
  }
  for (ir::WriteBack& write : graph.write_backs) write.value = replaced(write.value);
  for (ir::Symbol& symbol : graph.symbols) symbol.value = replaced(symbol.value);
  return graph.keep_only(keep);
}

}  // namespace lathe::passes
