#pragma once

#include <string>
#include <vector>

#include "core/compile/ir/graph.h"
#include "tests/core/compile/passes/interpreter.h"

namespace lathe::testing {

// A graph of tests/data/core/compile/passes.
ir::Graph load_graph(const std::string& name);

// Sizes of the first recording with one added to each symbol, so that no symbol is taken for its hint.
std::vector<std::int64_t> other_sizes(const ir::Graph& graph);

// Interprets both graphs on the same leaves; the worst difference() over outputs and gradients.
double change(const ir::Graph& before, const ir::Graph& after, const std::vector<std::int64_t>& symbols);

// Outputs, gradients and write-backs of the graph, absent ones left out.
std::vector<ir::ValueId> results_of(const ir::Graph& graph);

int count_nodes(const ir::Graph& graph, const std::string& plain_name);

}  // namespace lathe::testing

// Fails with the reason where the graph breaks an invariant.
#define LATHE_VALID(graph)                                        \
  do {                                                            \
    const auto lathe_problem = ::lathe::ir::why_invalid(graph);   \
    QVERIFY2(!lathe_problem, lathe_problem.value_or("").c_str()); \
  } while (false)
