#include "core/compile/passes/scales.h"

#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "core/compile/ir/operands.h"
#include "core/compile/ir/ops.h"
#include "core/compile/ir/shape.h"
#include "core/compile/passes/fold.h"
#include "core/compile/passes/loop_order.h"
#include "core/compile/passes/rewriter.h"

namespace lathe::passes {

using ir::Node;
using ir::ValueId;

namespace {

std::size_t at(std::int32_t id) {
  return static_cast<std::size_t>(id);
}

class ScaleSinker {
 public:
  explicit ScaleSinker(ir::Graph& graph)
      : graph_(graph), hints_(ir::hints(graph)), is_result_(find_results(graph)), readers_(graph.values.size()) {
    for (std::size_t i = 0; i < graph.nodes.size(); ++i)
      ir::for_each_read(graph.nodes[i], [&](ValueId id) { readers_[at(id)].insert(i); });
  }

  bool run() {
    for (const Node& node : graph_.nodes) try_node(node);
    if (scale_of_.empty()) return false;
    rewrite();
    return true;
  }

 private:
  // The factor, where the node is the product of a tensor and a power of two.
  std::optional<double> power_of_two(const Node& node) const {
    const ValueId x = ir::tensor_at(node, 0), other = ir::tensor_at(node, 1);
    if (ir::plain_name(node.op) != "mul" || x < 0) return std::nullopt;
    const auto number = other >= 0 ? uniform_number(graph_, other) : ir::number_at(node, 1);
    int exponent = 0;
    if (!number || *number == 0.0 || std::abs(std::frexp(*number, &exponent)) != 0.5) return std::nullopt;
    return std::abs(exponent) < 32 ? number : std::nullopt;
  }

  // Products that read the value, directly or transposed or reshaped; false where anything else does.
  bool find_products(ValueId id, std::multiset<std::size_t>& products) const {
    if (is_result_[at(id)]) return false;
    for (const std::size_t reader : readers_[at(id)]) {
      const Node& node = graph_.nodes[reader];
      const std::string_view name = ir::plain_name(node.op);
      if (name == "mm") {
        ir::for_each_read(node, [&](ValueId read) {
          if (read == id) products.insert(reader);
        });
      } else if ((name != "view" && name != "t" && name != "transpose") || !find_products(node.results[0], products)) {
        return false;
      }
    }
    return true;
  }

  double bytes(ValueId id) const { return static_cast<double>(ir::byte_count(graph_.values[at(id)]).evaluate(hints_)); }

  void try_node(const Node& node) {
    const auto scale = power_of_two(node);
    if (!scale) return;
    const ValueId x = ir::tensor_at(node, 0), y = node.results[0];
    const ir::Value &from = graph_.values[at(x)], &to = graph_.values[at(y)];
    if (from.dtype != to.dtype || from.sizes != to.sizes || from.strides != to.strides) return;
    std::multiset<std::size_t> products;
    if (!find_products(y, products) || products.empty()) return;
    // The copy is written and read; each result is a kernel of its own.
    const double copied = 2.0 * bytes(y) * kByteOfTraffic;
    double scaled = 0;
    for (const std::size_t product : products) {
      if (products.count(product) > 1) return;  // on both sides: the square of the scale
      scaled += kKernelStart + 2.0 * bytes(graph_.nodes[product].results[0]) * kByteOfTraffic;
    }
    if (scaled >= copied) return;
    unscaled_[y] = x;
    for (const std::size_t product : products) {
      const auto [found, is_new] = scale_of_.emplace(product, *scale);
      if (!is_new) found->second *= *scale;
    }
  }

  void rewrite() {
    std::vector<ValueId> replacement(graph_.values.size());
    for (std::size_t i = 0; i < replacement.size(); ++i) replacement[i] = static_cast<ValueId>(i);
    for (const auto& [y, x] : unscaled_) {
      ValueId first = x;
      while (unscaled_.contains(first)) first = unscaled_.at(first);
      replacement[at(y)] = first;
    }
    {
      Rewriter rewriter(graph_);
      for (std::size_t i = 0; i < rewriter.old_nodes().size(); ++i) {
        const auto scaled = scale_of_.find(i);
        if (scaled == scale_of_.end()) {
          rewriter.keep(i);
          continue;
        }
        const Node& product = rewriter.old_nodes()[i];
        rewriter.replace(i);
        const ir::Value like = rewriter.value(product.results[0]);
        const ValueId bare = rewriter.make(product.op, product.operands, like.dtype, like.sizes, like.strides);
        rewriter.define(product.results[0], "mul.Scalar",
                        {ir::tensor_operand(bare), ir::attribute_operand(scaled->second)});
      }
    }
    while (replacement.size() < graph_.values.size()) replacement.push_back(static_cast<ValueId>(replacement.size()));
    substitute(graph_, replacement);
  }

  ir::Graph& graph_;
  std::vector<std::int64_t> hints_;
  std::vector<bool> is_result_;
  std::vector<std::set<std::size_t>> readers_;  // by value: nodes
  std::map<ValueId, ValueId> unscaled_;         // scaled copies that go → what they are copies of
  std::map<std::size_t, double> scale_of_;      // products whose results are scaled instead
};

}  // namespace

bool sink_scales(ir::Graph& graph) {
  return ScaleSinker(graph).run();
}

}  // namespace lathe::passes
