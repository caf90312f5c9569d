#include "tests/core/compile/passes/interpreter.h"

#include <cmath>
#include <limits>
#include <random>

#include "core/base/error.h"
#include "core/base/format.h"
#include "core/compile/ir/operands.h"
#include "tests/core/compile/passes/interpreter_ops.h"

namespace lathe::testing {

namespace {

const Rule* find_rule(std::string_view op) {
  const std::string_view name = ir::plain_name(op);
  for (const Rules* rules : {&view_rules(), &pointwise_rules(), &row_rules(), &product_rules(), &movement_rules()}) {
    const auto found = rules->find(name);
    if (found != rules->end()) return &found->second;
  }
  return nullptr;
}

}  // namespace

void Interpreter::fill_leaves(std::uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal(0.0, 1.0);
  for (const auto* list : {&graph_.inputs, &graph_.parameters, &graph_.constants, &graph_.tangents}) {
    for (const ir::ValueId id : *list) {
      StridedArray array = allocate(id);
      const bool flips = array.dtype == ir::DType::boolean;
      for_each_index(array.sizes, [&](const Index& index) {
        const double number = normal(random);
        array.set(index, flips ? (number > 0 ? 1.0 : 0.0) : number);
      });
      arrays_[id] = std::move(array);
    }
  }
}

StridedArray Interpreter::allocate(ir::ValueId id) const {
  const ir::Value& value = graph_.values[static_cast<std::size_t>(id)];
  Index sizes, strides;
  for (const ir::Size& size : value.sizes) sizes.push_back(evaluate(size));
  for (const ir::Size& stride : value.strides) strides.push_back(evaluate(stride));
  return StridedArray::make(value.dtype, std::move(sizes), std::move(strides));
}

void Interpreter::run(const ir::Node& node) {
  const Rule* rule = find_rule(node.op);
  if (rule == nullptr) throw Error(ErrorKind::internal, format("the interpreter does not know {}", node.op));
  (*rule)({*this, node});
  for (const ir::ValueId id : node.results) {
    if (id < 0) continue;
    const StridedArray expected = allocate(id);
    if (get(id).sizes != expected.sizes) {
      throw Error(ErrorKind::internal,
                  format("{} makes %{} of sizes {}, the graph says {}", node.op, id, get(id).sizes, expected.sizes));
    }
  }
}

void Interpreter::run_all() {
  for (const ir::Node& node : graph_.nodes) run(node);
}

double difference(const StridedArray& actual, const StridedArray& expected) {
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  if (actual.sizes != expected.sizes || actual.dtype != expected.dtype) return kInfinite;
  double worst = 0, largest = 1e-6;
  for_each_index(expected.sizes, [&](const Index& index) {
    const double a = actual.get(index), b = expected.get(index);
    if (!std::isfinite(a) || !std::isfinite(b)) {
      if (!(a == b) && !(std::isnan(a) && std::isnan(b))) worst = kInfinite;
      return;
    }
    worst = std::max(worst, std::abs(a - b));
    largest = std::max(largest, std::abs(b));
  });
  return worst / largest;
}

}  // namespace lathe::testing
