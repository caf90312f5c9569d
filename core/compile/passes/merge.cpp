#include "core/compile/passes/merge.h"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "core/compile/ir/operands.h"
#include "core/compile/ir/ops.h"
#include "core/compile/ir/shape.h"
#include "core/compile/passes/rewriter.h"

namespace lathe::passes {

using ir::Node;
using ir::Size;
using ir::ValueId;

namespace {

constexpr std::int64_t kWidest = 64;      // columns of one product
constexpr std::int64_t kWidestAll = 256;  // of the merged one

std::size_t at(std::int32_t id) {
  return static_cast<std::size_t>(id);
}

struct Product {
  std::size_t node;
  ValueId weight;  // [columns, inner], row-major; the right operand is its transpose
  std::int64_t columns;
};

class ProductMerger {
 public:
  explicit ProductMerger(ir::Graph& graph)
      : graph_(graph), hints_(ir::hints(graph)), is_result_(find_results(graph)), readers_(graph.values.size()) {
    for (std::size_t i = 0; i < graph.nodes.size(); ++i)
      ir::for_each_read(graph.nodes[i], [&](ValueId id) { readers_[at(id)].insert(i); });
  }

  bool run() {
    std::map<ValueId, std::vector<Product>> by_left;
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) add_candidate(i, by_left);
    for (auto& [left, products] : by_left) {
      const std::size_t first = products.front().node;
      std::erase_if(products, [&](const Product& product) { return !known_at(product.weight, first); });
      std::int64_t columns = 0;
      for (const Product& product : products) columns += product.columns;
      const std::int64_t rows = value(left).sizes[0].evaluate(hints_);
      if (products.size() > 1 && columns <= kWidestAll && rows >= 2 * columns) groups_[first] = products;
    }
    if (groups_.empty()) return false;
    rewrite();
    return true;
  }

 private:
  const ir::Value& value(ValueId id) const { return graph_.values[at(id)]; }

  void add_candidate(std::size_t index, std::map<ValueId, std::vector<Product>>& by_left) const {
    const Node& node = graph_.nodes[index];
    if (ir::plain_name(node.op) != "mm" || node.backward) return;
    const ValueId left = ir::tensor_at(node, 0), result = node.results[0];
    const Node* turned = definition(graph_, ir::tensor_at(node, 1));
    if (turned == nullptr || ir::plain_name(turned->op) != "t" || is_result_[at(result)]) return;
    const ValueId weight = ir::tensor_at(*turned, 0);
    const auto columns = value(result).sizes[1].constant();
    if (!columns || *columns > kWidest || value(weight).strides != ir::dense_strides(value(weight).sizes)) return;
    if (!takes_a_pitch(result)) return;
    by_left[left].push_back({index, weight, *columns});
  }

  // Whether all that read the value read rows with gaps between them as well, and make the same of them.
  bool takes_a_pitch(ValueId id) const {
    for (const std::size_t reader : readers_[at(id)]) {
      const Node& node = graph_.nodes[reader];
      const std::string_view name = ir::plain_name(node.op);
      const bool turned = name == "t" && !is_result_[at(node.results[0])] && only_products_read(node.results[0]);
      if (name != "mm" && ir::kind(node.op) != ir::OpKind::pointwise && !turned) return false;
    }
    return true;
  }
  bool only_products_read(ValueId id) const {
    const auto& readers = readers_[at(id)];
    return std::all_of(readers.begin(), readers.end(),
                       [&](std::size_t reader) { return ir::plain_name(graph_.nodes[reader].op) == "mm"; });
  }

  // Whether the value is there before the node runs, or can be: made of such values without a product, which might be
  // one of those that are merged.
  bool known_at(ValueId id, std::size_t node) const {
    const Node* made_by = definition(graph_, id);
    if (made_by == nullptr) return value(id).origin != ir::Origin::tangent;
    if (at(value(id).index) < node) return true;
    const bool waits = !ir::is_pure(*made_by) || made_by->backward || ir::is_product(made_by->op);
    if (waits) return false;
    bool known = true;
    ir::for_each_read(*made_by, [&](ValueId read) { known = known && known_at(read, node); });
    return known;
  }

  void rewrite() {
    std::set<std::size_t> merged;
    for (const auto& [first, products] : groups_) {
      for (const Product& product : products) merged.insert(product.node);
    }
    Rewriter rewriter(graph_);
    std::vector<bool> written(rewriter.old_nodes().size(), false);
    // Node indices of values change as the list is written; these are of the old one.
    std::vector<std::int32_t> made_by(graph_.values.size(), -1);
    for (std::size_t i = 0; i < rewriter.old_nodes().size(); ++i) {
      for (const ValueId id : rewriter.old_nodes()[i].results) {
        if (id >= 0) made_by[at(id)] = static_cast<std::int32_t>(i);
      }
    }
    const auto write = [&](const auto& self, std::size_t node) -> void {
      if (written[node]) return;
      written[node] = true;
      ir::for_each_read(rewriter.old_nodes()[node], [&](ValueId id) {
        if (made_by[at(id)] >= 0 && !written[at(made_by[at(id)])]) self(self, at(made_by[at(id)]));
      });
      rewriter.keep(node);
    };
    for (std::size_t i = 0; i < rewriter.old_nodes().size(); ++i) {
      if (const auto group = groups_.find(i); group != groups_.end()) {
        for (const Product& product : group->second) {
          if (made_by[at(product.weight)] >= 0) write(write, at(made_by[at(product.weight)]));
          written[product.node] = true;
        }
        write_merged(rewriter, group->second);
      } else if (!merged.contains(i)) {
        write(write, i);
      }
    }
  }

  void write_merged(Rewriter& rewriter, const std::vector<Product>& products) {
    const Node& first = rewriter.old_nodes()[products.front().node];
    rewriter.replace(products.front().node);
    const ir::Value left = value(ir::tensor_at(first, 0)), like = value(products.front().weight);
    ir::Operand weights;
    weights.kind = ir::Operand::Kind::tensors;
    std::int64_t columns = 0;
    for (const Product& product : products) {
      weights.values.push_back(product.weight);
      columns += product.columns;
    }
    const Size rows = left.sizes[0], inner = left.sizes[1];
    const ValueId weight = rewriter.make("cat", {weights, ir::attribute_operand(Size(0))}, like.dtype,
                                         {Size(columns), inner}, {inner, Size(1)});
    const ValueId turned =
        rewriter.make("t", {ir::tensor_operand(weight)}, like.dtype, {inner, Size(columns)}, {Size(1), inner});
    const ValueId all = rewriter.make("mm", {first.operands[0], ir::tensor_operand(turned)}, left.dtype,
                                      {rows, Size(columns)}, {Size(columns), Size(1)});
    std::int64_t start = 0;
    for (const Product& product : products) {
      const ValueId result = rewriter.old_nodes()[product.node].results[0];
      rewriter.define(result, "slice.Tensor",
                      {ir::tensor_operand(all), ir::attribute_operand(Size(1)), ir::attribute_operand(Size(start)),
                       ir::attribute_operand(Size(start + product.columns)), ir::attribute_operand(Size(1))});
      start += product.columns;
      graph_.values[at(result)].strides = {Size(columns), Size(1)};
      for (const std::size_t reader : readers_[at(result)]) {
        const Node& view = rewriter.old_nodes()[reader];
        if (ir::plain_name(view.op) == "t") graph_.values[at(view.results[0])].strides = {Size(1), Size(columns)};
      }
    }
  }

  ir::Graph& graph_;
  std::vector<std::int64_t> hints_;
  std::vector<bool> is_result_;
  std::vector<std::set<std::size_t>> readers_;          // by value: nodes
  std::map<std::size_t, std::vector<Product>> groups_;  // by the first product's node
};

}  // namespace

bool merge_products(ir::Graph& graph) {
  return ProductMerger(graph).run();
}

}  // namespace lathe::passes
