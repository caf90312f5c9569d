#pragma once

#include <utility>
#include <vector>

#include "core/compile/ir/kernel_spec.h"

// Kernel specifications that the tests of both emitters share.
namespace lathe::testing {

inline ir::Value value(ir::DType dtype) {
  return {dtype, {}, {}, {}, ir::Origin::node, -1};
}

inline ir::Expr load(ir::ValueId id, std::vector<ir::Size> strides, ir::DType dtype = ir::DType::f32,
                     std::int32_t sweep = 0) {
  ir::Expr expr;
  expr.op = ir::ExprOp::load;
  expr.dtype = dtype;
  expr.access = {id, std::move(strides), ir::Size(0)};
  expr.sweep = sweep;
  return expr;
}

inline ir::Expr constant(double number) {
  ir::Expr expr;
  expr.number = number;
  return expr;
}

inline ir::Expr op(ir::ExprOp what, std::vector<std::int32_t> arguments, std::int32_t sweep = 0,
                   ir::DType dtype = ir::DType::f32) {
  ir::Expr expr;
  expr.op = what;
  expr.arguments = std::move(arguments);
  expr.sweep = sweep;
  expr.dtype = dtype;
  return expr;
}

// Layer norm without affine part over rows of s1 elements, s0 rows: the row's mean and spread, then the row again.
inline ir::KernelSpec layer_norm(bool half) {
  const ir::DType type = half ? ir::DType::bf16 : ir::DType::f32;
  ir::KernelSpec kernel;
  kernel.name = half ? "layer_norm_half" : "layer_norm";
  kernel.domain = {ir::Size::symbol(0), ir::Size::symbol(1)};
  kernel.symbols = {0, 1};
  const std::vector<ir::Size> dense = {ir::Size::symbol(1), ir::Size(1)};
  ir::Expr count;
  count.op = ir::ExprOp::size;
  count.size = ir::Size::symbol(1);
  kernel.exprs = {load(0, dense, type),                // 0
                  op(ir::ExprOp::reduce_sum, {0}),     // 1
                  count,                               // 2
                  op(ir::ExprOp::div, {1, 2}, 1),      // 3 mean
                  op(ir::ExprOp::sub, {0, 3}, 1),      // 4
                  op(ir::ExprOp::mul, {4, 4}, 1),      // 5
                  op(ir::ExprOp::reduce_sum, {5}, 1),  // 6
                  op(ir::ExprOp::div, {6, 2}, 2),      // 7
                  constant(1e-6),                      // 8
                  op(ir::ExprOp::add, {7, 8}, 2),      // 9
                  op(ir::ExprOp::rsqrt, {9}, 2),       // 10
                  op(ir::ExprOp::mul, {4, 10}, 2)};    // 11
  kernel.stores = {{11, {1, dense, ir::Size(0)}, false}, {3, {2, {ir::Size(1), ir::Size(0)}, ir::Size(0)}, true}};
  kernel.inputs = {0};
  kernel.outputs = {1, 2};
  kernel.sweeps = 3;
  return kernel;
}

}  // namespace lathe::testing
