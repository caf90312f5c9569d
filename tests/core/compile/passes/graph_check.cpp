#include "tests/core/compile/passes/graph_check.h"

#include <algorithm>
#include <limits>

#include "core/base/files.h"
#include "core/compile/ir/operands.h"
#include "core/compile/ir/shape.h"
#include "core/compile/ir/text.h"
#include "tests/support/golden.h"

namespace lathe::testing {

ir::Graph load_graph(const std::string& name) {
  return ir::parse(read_text(data_folder() / "core" / "compile" / "passes" / (name + ".txt")));
}

std::vector<std::int64_t> other_sizes(const ir::Graph& graph) {
  std::vector<std::int64_t> sizes = ir::hints(graph);
  for (std::int64_t& size : sizes) ++size;
  return sizes;
}

std::vector<ir::ValueId> results_of(const ir::Graph& graph) {
  std::vector<ir::ValueId> ids;
  for (const auto* list : {&graph.outputs, &graph.input_gradients, &graph.parameter_gradients})
    ids.insert(ids.end(), list->begin(), list->end());
  for (const ir::WriteBack& write : graph.write_backs) ids.push_back(write.value);
  std::erase(ids, -1);
  return ids;
}

double change(const ir::Graph& before, const ir::Graph& after, const std::vector<std::int64_t>& symbols) {
  Interpreter first(before, symbols), second(after, symbols);
  for (Interpreter* interpreter : {&first, &second}) {
    interpreter->fill_leaves();
    interpreter->run_all();
  }
  const std::vector<ir::ValueId> a = results_of(before), b = results_of(after);
  if (a.size() != b.size()) return std::numeric_limits<double>::infinity();
  double worst = 0;
  for (std::size_t i = 0; i < a.size(); ++i) worst = std::max(worst, difference(second.get(b[i]), first.get(a[i])));
  return worst;
}

int count_nodes(const ir::Graph& graph, const std::string& plain_name) {
  return static_cast<int>(std::count_if(graph.nodes.begin(), graph.nodes.end(),
                                        [&](const ir::Node& node) { return ir::plain_name(node.op) == plain_name; }));
}

}  // namespace lathe::testing
