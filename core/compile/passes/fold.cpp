#include "core/compile/passes/fold.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "core/compile/ir/operands.h"
#include "core/compile/ir/ops.h"
#include "core/compile/ir/shape.h"
#include "core/compile/passes/rewriter.h"

namespace lathe::passes {

namespace {

template <std::size_t N>
bool one_of(std::string_view name, const std::array<std::string_view, N>& names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Views that begin at the first element of what they view.
constexpr std::array<std::string_view, 13> kKeepsOffset = {
    "alias",   "detach",    "expand",    "lift_fresh", "permute",      "squeeze",       "t",
    "reshape", "transpose", "unsqueeze", "view",       "_unsafe_view", "_reshape_alias"};

class Folder {
 public:
  explicit Folder(ir::Graph& graph) : graph_(graph), is_result_(find_results(graph)) {
    for (std::size_t i = 0; i < graph.values.size(); ++i) replacement_.push_back(static_cast<ir::ValueId>(i));
  }

  bool run() {
    for (ir::Node& node : graph_.nodes) {
      for (ir::Operand& operand : node.operands) {
        for (ir::ValueId& id : operand.values) {
          if (id >= 0) id = replacement_[index(id)];
        }
      }
      fold_one(node);
    }
    if (changed_) substitute(graph_, replacement_);
    return changed_;
  }

 private:
  static std::size_t index(ir::ValueId id) { return static_cast<std::size_t>(id); }
  const ir::Value& value(ir::ValueId id) const { return graph_.values[index(id)]; }

  void fold_one(ir::Node& node) {
    if (node.results.size() != 1 || node.results[0] < 0 || !ir::is_pure(node)) return;
    const ir::ValueId result = node.results[0], operand = ir::tensor_at(node, 0);
    if (operand < 0) return;
    const bool is_view = ir::kind(node.op) == ir::OpKind::view;
    const ir::ValueId same = is_view ? same_view(node, operand) : same_value(node, operand);
    if (same >= 0 && (is_view || may_be_renamed(result, same))) {
      replacement_[index(result)] = same;
      changed_ = true;
    } else if (is_view) {
      look_through(node, operand);
    }
  }

  bool same_layout(ir::ValueId a, ir::ValueId b) const {
    const ir::Value &one = value(a), &other = value(b);
    return one.dtype == other.dtype && one.device == other.device && one.sizes == other.sizes &&
           one.strides == other.strides;
  }

  // The value among those that this view was made from that it equals, or −1.
  ir::ValueId same_view(const ir::Node& node, ir::ValueId operand) const {
    const ir::ValueId result = node.results[0];
    const std::string_view name = ir::plain_name(node.op);
    if ((name == "slice" || name == "narrow") && same_layout(result, operand) &&
        ir::integer_at(node, 4).value_or(1) == 1)
      return operand;
    if (!one_of(name, kKeepsOffset)) return -1;
    for (ir::ValueId at = operand;;) {
      if (same_layout(result, at)) return at;
      const ir::Node* made_by = definition(graph_, at);
      if (made_by == nullptr || !one_of(ir::plain_name(made_by->op), kKeepsOffset)) return -1;
      at = ir::tensor_at(*made_by, 0);
    }
  }

  ir::ValueId same_value(const ir::Node& node, ir::ValueId operand) const {
    const ir::ValueId result = node.results[0];
    const std::string_view name = ir::plain_name(node.op);
    if (name == "_to_copy" || name == "clone") return same_layout(result, operand) ? operand : -1;
    if (name == "add" || name == "sub") {
      if (is_number(node, 1, 0.0)) return same_layout(result, operand) ? operand : -1;
      const ir::ValueId other = ir::tensor_at(node, 1);
      const bool plain = name == "add" && ir::number_at(node, 2).value_or(1.0) == 1.0;
      return plain && is_number(node, 0, 0.0) && other >= 0 && same_layout(result, other) ? other : -1;
    }
    if (name == "mul") {
      if (is_number(node, 1, 1.0)) return same_layout(result, operand) ? operand : -1;
      const ir::ValueId other = ir::tensor_at(node, 1);
      return is_number(node, 0, 1.0) && other >= 0 && same_layout(result, other) ? other : -1;
    }
    if (name == "div") {
      const bool exact = node.operands.size() < 3;  // no rounding mode
      return exact && is_number(node, 1, 1.0) && same_layout(result, operand) ? operand : -1;
    }
    if (name == "pow") return ir::number_at(node, 1) == 1.0 && same_layout(result, operand) ? operand : -1;
    return -1;
  }

  bool is_number(const ir::Node& node, std::size_t position, double number) const {
    if (const auto literal = ir::number_at(node, position)) return *literal == number;
    const ir::ValueId id = ir::tensor_at(node, position);
    return id >= 0 && uniform_number(graph_, id) == number;
  }

  // A result that eager computes into memory of its own must not become another name of what the caller holds, nor of
  // another result.
  bool may_be_renamed(ir::ValueId result, ir::ValueId same) const {
    if (!is_result_[index(result)]) return true;
    const ir::Node* made_by = definition(graph_, same);
    return made_by != nullptr && ir::kind(made_by->op) != ir::OpKind::view && !is_result_[index(same)];
  }

  // A view of a view of dense values, both row-major, is a view of the first.
  void look_through(ir::Node& node, ir::ValueId operand) {
    const auto reshapes = [](std::string_view op) {
      const std::string_view name = ir::plain_name(op);
      return name == "view" || name == "_unsafe_view" || name == "reshape";
    };
    if (!reshapes(node.op)) return;
    if (node.op != "view") {
      node.op = "view";  // one spelling, so that equal views are merged
      changed_ = true;
    }
    const ir::Node* made_by = definition(graph_, operand);
    if (made_by == nullptr || !reshapes(made_by->op)) return;
    const ir::ValueId first = ir::tensor_at(*made_by, 0);
    const auto row_major = [&](ir::ValueId id) { return value(id).strides == ir::dense_strides(value(id).sizes); };
    if (!row_major(first) || !row_major(operand) || !row_major(node.results[0])) return;
    node.operands[0] = ir::tensor_operand(first);
    changed_ = true;
  }

  ir::Graph& graph_;
  std::vector<bool> is_result_;
  std::vector<ir::ValueId> replacement_;
  bool changed_ = false;
};

}  // namespace

std::optional<double> uniform_number(const ir::Graph& graph, ir::ValueId id) {
  const ir::Node* node = definition(graph, id);
  if (node == nullptr) return std::nullopt;
  const std::string_view name = ir::plain_name(node->op);
  if (name == "zeros" || name == "zeros_like" || name == "new_zeros") return 0.0;
  if (name == "ones" || name == "ones_like") return 1.0;
  if (name == "full" || name == "full_like") return ir::number_at(*node, 1);
  if (name == "scalar_tensor" || name == ir::kWrappedNumber) return ir::number_at(*node, 0);
  const bool passes_on = (ir::kind(node->op) == ir::OpKind::view && node->results.size() == 1) || name == "clone";
  const ir::ValueId operand = ir::tensor_at(*node, 0);
  return passes_on && operand >= 0 ? uniform_number(graph, operand) : std::nullopt;
}

bool fold(ir::Graph& graph) {
  return Folder(graph).run();
}

}  // namespace lathe::passes
