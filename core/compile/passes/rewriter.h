#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/compile/ir/graph.h"

namespace lathe::passes {

// Writes a graph's list of nodes anew, from the first to the last, some kept, some replaced by others. Values keep
// their ids, so readers of a replaced node's results need no change where the new nodes define the same values.
class Rewriter {
 public:
  explicit Rewriter(ir::Graph& graph);
  ~Rewriter();  // puts the new list into the graph
  Rewriter(const Rewriter&) = delete;
  Rewriter& operator=(const Rewriter&) = delete;

  const std::vector<ir::Node>& old_nodes() const { return old_; }
  void keep(std::size_t old_node);

  // Nodes that are made stand in the place of this one: of the same direction.
  void replace(std::size_t old_node);
  ir::ValueId make(std::string op, std::vector<ir::Operand> operands, ir::DType dtype, std::vector<ir::Size> sizes,
                   std::vector<ir::Size> strides);
  // Defines a value that exists: a result of the node that is replaced.
  void define(ir::ValueId result, std::string op, std::vector<ir::Operand> operands);

  const ir::Value& value(ir::ValueId id) const { return graph_.values[static_cast<std::size_t>(id)]; }

 private:
  void append(ir::Node node);

  ir::Graph& graph_;
  std::vector<ir::Node> old_;
  std::vector<std::int32_t> moved_;
  bool backward_ = false;
  ir::Device device_;
};

// Gives every reader of value v, lists of the graph included, replacement[v] instead. Nodes stay, now perhaps unread.
void substitute(ir::Graph& graph, const std::vector<ir::ValueId>& replacement);

// The node that defines the value; nothing for inputs, parameters, constants and tangents.
const ir::Node* definition(const ir::Graph& graph, ir::ValueId id);

// How many nodes and lists read each value.
std::vector<std::int32_t> count_readers(const ir::Graph& graph);

// Whether the value leaves the graph: output, gradient, write-back.
std::vector<bool> find_results(const ir::Graph& graph);

}  // namespace lathe::passes
