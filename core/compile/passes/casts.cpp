#include "core/compile/passes/casts.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "core/compile/ir/operands.h"
#include "core/compile/ir/ops.h"
#include "core/compile/ir/shape.h"
#include "core/compile/passes/rewriter.h"

namespace lathe::passes {

using ir::DType;
using ir::ValueId;

namespace {

struct Digits {
  bool floating = false;
  int mantissa = 0, exponent = 0;  // bits; for integers: bits of magnitude and 0
  bool is_signed = true;
};

Digits digits(DType dtype) {
  switch (dtype) {
    case DType::f64:
      return {true, 53, 11};
    case DType::f32:
      return {true, 24, 8};
    case DType::f16:
      return {true, 11, 5};
    case DType::bf16:
      return {true, 8, 8};
    case DType::i64:
      return {false, 63, 0};
    case DType::i32:
      return {false, 31, 0};
    case DType::i16:
      return {false, 15, 0};
    case DType::i8:
      return {false, 7, 0};
    case DType::u8:
      return {false, 8, 0, false};
    case DType::boolean:
      return {false, 1, 0, false};
  }
  return {};
}

// Views of all elements, and those of one element many times: they only rearrange.
constexpr std::array<std::string_view, 11> kRearranging = {
    "alias",     "detach",    "expand", "permute",      "squeeze",       "t",
    "transpose", "unsqueeze", "view",   "_unsafe_view", "_reshape_alias"};

bool rearranges(const ir::Node& node) {
  const std::string_view name = ir::plain_name(node.op);
  return std::find(kRearranging.begin(), kRearranging.end(), name) != kRearranging.end();
}

bool is_cast(const ir::Node* node) {
  return node != nullptr && ir::plain_name(node->op) == "_to_copy" && ir::tensor_at(*node, 0) >= 0;
}

class CastFolder {
 public:
  explicit CastFolder(ir::Graph& graph) : rewriter_(graph), graph_(graph), is_result_(find_results(graph)) {
    for (std::size_t i = 0; i < graph.values.size(); ++i) replacement_.push_back(static_cast<ValueId>(i));
    made_by_.assign(graph.values.size(), -1);
    for (std::size_t i = 0; i < rewriter_.old_nodes().size(); ++i) {
      for (const ValueId id : rewriter_.old_nodes()[i].results) {
        if (id >= 0) made_by_[index(id)] = static_cast<std::int32_t>(i);
      }
    }
  }

  bool run() {
    for (std::size_t i = 0; i < rewriter_.old_nodes().size(); ++i) {
      if (!is_cast(&rewriter_.old_nodes()[i]) || !rewrite(i)) rewriter_.keep(i);
    }
    return changed_;
  }
  const std::vector<ValueId>& replacement() const { return replacement_; }

 private:
  static std::size_t index(ValueId id) { return static_cast<std::size_t>(id); }
  const ir::Value& value(ValueId id) const { return graph_.values[index(id)]; }
  const ir::Node* made_by(ValueId id) const {
    return index(id) < made_by_.size() && made_by_[index(id)] >= 0 ? &rewriter_.old_nodes()[index(made_by_[index(id)])]
                                                                   : nullptr;
  }

  // The rearranging views between the cast's operand and what they show, the innermost first.
  std::vector<const ir::Node*> views_below(ValueId operand) const {
    std::vector<const ir::Node*> chain;
    for (const ir::Node* node = made_by(operand); node != nullptr && rearranges(*node);
         node = made_by(ir::tensor_at(*node, 0)))
      chain.insert(chain.begin(), node);
    return chain;
  }

  bool rewrite(std::size_t node) {
    const ir::Node& cast = rewriter_.old_nodes()[node];
    const ValueId result = cast.results[0], operand = ir::tensor_at(cast, 0);
    if (!(value(result).device == value(operand).device)) return false;
    const std::vector<const ir::Node*> views = views_below(operand);
    const ValueId shown = views.empty() ? operand : ir::tensor_at(*views.front(), 0);
    const ir::Node* inner = made_by(shown);
    if (is_cast(inner) && shorten(node, views, shown, ir::tensor_at(*inner, 0))) return true;
    return !views.empty() && lift(node, views, shown);
  }

  bool same_place(ValueId a, ValueId b) const {
    return value(a).sizes == value(b).sizes && value(a).strides == value(b).strides &&
           value(a).device == value(b).device;
  }

  // cast(views(cast(source))) with an exact inner cast.
  bool shorten(std::size_t node, const std::vector<const ir::Node*>& views, ValueId shown, ValueId source) {
    const ir::Node& cast = rewriter_.old_nodes()[node];
    const ValueId result = cast.results[0];
    if (!is_exact(value(source).dtype, value(shown).dtype) || !same_place(source, shown)) return false;
    if (value(source).dtype != value(result).dtype) {
      if (!views.empty()) return false;  // the views would be of another type for all their readers
      rewriter_.replace(node);
      std::vector<ir::Operand> operands = cast.operands;
      operands[0] = ir::tensor_operand(source);
      rewriter_.define(result, cast.op, std::move(operands));
      return changed_ = true;
    }
    if (is_result_[index(result)]) return false;  // it has memory of its own
    if (value(result).strides != value(ir::tensor_at(cast, 0)).strides) return false;
    rewriter_.replace(node);
    replacement_[index(result)] = repeat(views, source);
    return changed_ = true;
  }

  // The same views of another value; returns the last one's result.
  ValueId repeat(const std::vector<const ir::Node*>& views, ValueId source) {
    ValueId last = source;
    for (const ir::Node* view : views) {
      std::vector<ir::Operand> operands = view->operands;
      operands[0] = ir::tensor_operand(last);
      const ir::Value like = value(view->results[0]);
      last = rewriter_.make(view->op, std::move(operands), value(source).dtype, like.sizes, like.strides);
    }
    return last;
  }

  // cast(views(source)) → views(cast(source)): the same elements, fewer where a view expands.
  bool lift(std::size_t node, const std::vector<const ir::Node*>& views, ValueId source) {
    const ir::Node& cast = rewriter_.old_nodes()[node];
    const ValueId result = cast.results[0], operand = ir::tensor_at(cast, 0);
    const bool expands = std::any_of(views.begin(), views.end(),
                                     [](const ir::Node* view) { return ir::plain_name(view->op) == "expand"; });
    // Readers were recorded with the strides of the result: only where the views of the cast have the same.
    if (is_result_[index(result)] || !ir::is_packed(value(source).sizes, value(source).strides)) return false;
    if (value(result).strides != value(operand).strides && !expands) return false;
    if (expands && has_layout_reader(result)) return false;
    rewriter_.replace(node);
    const ir::Value like = value(source);
    std::vector<ir::Operand> operands = cast.operands;
    operands[0] = ir::tensor_operand(source);
    const ValueId lifted = rewriter_.make(cast.op, std::move(operands), value(result).dtype, like.sizes, like.strides);
    replacement_[index(result)] = repeat(views, lifted);
    return changed_ = true;
  }

  // Whether anything but an element-wise operator reads the value: it may depend on how it lies in memory.
  bool has_layout_reader(ValueId id) const {
    for (const ir::Node& node : rewriter_.old_nodes()) {
      if (ir::kind(node.op) == ir::OpKind::pointwise) continue;
      bool reads = false;
      ir::for_each_read(node, [&](ValueId read) { reads = reads || read == id; });
      if (reads) return true;
    }
    return false;
  }

  Rewriter rewriter_;
  ir::Graph& graph_;
  std::vector<bool> is_result_;
  std::vector<ValueId> replacement_;
  std::vector<std::int32_t> made_by_;
  bool changed_ = false;
};

}  // namespace

bool is_exact(DType from, DType to) {
  if (from == to) return true;
  const Digits a = digits(from), b = digits(to);
  if (a.floating && !b.floating) return false;
  if (a.is_signed && !b.is_signed) return false;
  if (to == DType::boolean) return false;
  if (a.mantissa > b.mantissa) return false;
  // Integers of these widths lie far inside the range of f32 and f64; f16 ends at 65504.
  return a.floating ? a.exponent <= b.exponent : !b.floating || b.exponent >= 8 || a.mantissa <= 11;
}

bool fold_casts(ir::Graph& graph) {
  std::vector<ValueId> replacement;
  bool changed = false;
  {
    CastFolder folder(graph);
    changed = folder.run();
    replacement = folder.replacement();
  }
  if (!changed) return false;
  while (replacement.size() < graph.values.size()) replacement.push_back(static_cast<ValueId>(replacement.size()));
  // A replaced value may have been replaced by views of a value that was replaced, too.
  for (ValueId& id : replacement) {
    while (replacement[static_cast<std::size_t>(id)] != id) id = replacement[static_cast<std::size_t>(id)];
  }
  substitute(graph, replacement);
  return true;
}

}  // namespace lathe::passes
