#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "core/compile/ir/graph.h"
#include "tests/core/compile/passes/strided_array.h"

namespace lathe::testing {

// Runs nodes of a graph in double precision, each result rounded to its type, with the meaning that ATen documents for
// the operators. Slow and plain: what the compiled code is held against. Views share memory, as in ATen.
class Interpreter {
 public:
  Interpreter(const ir::Graph& graph, std::vector<std::int64_t> symbols)
      : graph_(graph), symbols_(std::move(symbols)) {}

  // Inputs, parameters, constants and tangents from a fixed seed: normal numbers, coin flips for booleans.
  void fill_leaves(std::uint32_t seed = 1);
  void set(ir::ValueId id, StridedArray array) { arrays_[id] = std::move(array); }
  const StridedArray& get(ir::ValueId id) const { return arrays_.at(id); }
  bool has(ir::ValueId id) const { return arrays_.contains(id); }
  void forget(ir::ValueId id) { arrays_.erase(id); }

  void run(const ir::Node& node);
  void run_all();

  // Memory for a value, laid out as the graph says.
  StridedArray allocate(ir::ValueId id) const;
  std::int64_t evaluate(const ir::Size& size) const { return size.evaluate(symbols_); }
  const std::vector<std::int64_t>& symbols() const { return symbols_; }
  const ir::Graph& graph() const { return graph_; }

 private:
  const ir::Graph& graph_;
  std::vector<std::int64_t> symbols_;
  std::map<ir::ValueId, StridedArray> arrays_;
};

// Largest difference of two arrays of equal sizes, divided by the largest number expected (or 1e-6 where that is
// smaller); infinite where sizes differ or a number is not finite.
double difference(const StridedArray& actual, const StridedArray& expected);

}  // namespace lathe::testing
