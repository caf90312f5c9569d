#pragma once

#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/compile/ir/operands.h"
#include "core/compile/passes/expr_builder.h"
#include "core/compile/passes/lowering.h"

namespace lathe::passes {

// One node being lowered; `type` is what its arithmetic runs in.
class Lowering {
 public:
  Lowering(const ir::Graph& graph, const ir::Node& node, ExprBuilder& builder, const ReadOperand& read,
           ir::DType computed)
      : type(computed), graph_(graph), node_(node), builder_(builder), read_(read) {}

  const ir::DType type;

  const ir::Node& node() const { return node_; }
  ir::DType result_type() const { return graph_.values[static_cast<std::size_t>(node_.results[0])].dtype; }
  const ir::Value& operand(std::size_t position) const {
    return graph_.values[static_cast<std::size_t>(ir::tensor_at(node_, position))];
  }
  bool given(std::size_t position) const {
    return ir::tensor_at(node_, position) >= 0 || ir::size_at(node_, position) || ir::number_at(node_, position);
  }
  double number(std::size_t position, double otherwise) const {
    return ir::number_at(node_, position).value_or(otherwise);
  }

  // The operand as a number of `type`.
  ExprId x(std::size_t position) const { return builder_.cast(raw(position), type); }
  // As it is.
  ExprId raw(std::size_t position) const {
    if (const ir::ValueId id = ir::tensor_at(node_, position); id >= 0) return read_(id);
    if (const auto size = ir::size_at(node_, position)) return builder_.size(*size, type);
    return builder_.constant(number(position, 0.0), type);
  }
  ExprId condition(std::size_t position) const { return builder_.cast(raw(position), ir::DType::boolean); }

  ExprId c(double number) const { return builder_.constant(number, type); }
  ExprId op(ir::ExprOp op, std::vector<ExprId> arguments) const { return builder_.op(op, std::move(arguments), type); }
  ExprId add(ExprId a, ExprId b) const { return op(ir::ExprOp::add, {a, b}); }
  ExprId sub(ExprId a, ExprId b) const { return op(ir::ExprOp::sub, {a, b}); }
  ExprId mul(ExprId a, ExprId b) const { return op(ir::ExprOp::mul, {a, b}); }
  ExprId div(ExprId a, ExprId b) const { return op(ir::ExprOp::div, {a, b}); }
  ExprId test(ir::ExprOp op, ExprId a, ExprId b) const { return builder_.op(op, {a, b}, ir::DType::boolean); }
  ExprId select(ExprId condition, ExprId then, ExprId otherwise) const {
    return op(ir::ExprOp::select, {condition, then, otherwise});
  }

  // For operators whose result is one of the numbers they are given, or its negative: where those are of the half type
  // of the result, so is the result, and nothing is rounded.
  ExprId exact(ir::ExprOp op, std::vector<ExprId> arguments, std::size_t first = 0) const {
    bool half = is_half(result_type());
    for (std::size_t i = first; half && i < arguments.size(); ++i) {
      if (builder_.at(arguments[i]).op == ir::ExprOp::constant)
        arguments[i] = builder_.cast(arguments[i], result_type());
      half = builder_.at(arguments[i]).dtype == result_type();
    }
    return builder_.op(op, std::move(arguments), half ? result_type() : type);
  }

 private:
  const ir::Graph& graph_;
  const ir::Node& node_;
  ExprBuilder& builder_;
  const ReadOperand& read_;
};

// The result of a node as an expression of type Lowering::type, not yet rounded to the node's own.
using LoweringRule = ExprId (*)(const Lowering&);
using LoweringRules = std::unordered_map<std::string_view, LoweringRule>;  // by ATen's name without overload

// gelu, silu, elu, softplus and gradients of these and of sigmoid, tanh, relu.
const LoweringRules& activation_rules();

}  // namespace lathe::passes
