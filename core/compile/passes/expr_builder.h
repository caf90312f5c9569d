#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "core/compile/ir/kernel_spec.h"

namespace lathe::passes {

// The type that arithmetic on values of this type runs in.
ir::DType compute_type(ir::DType dtype);
bool is_half(ir::DType dtype);
bool is_float(ir::DType dtype);

using ExprId = std::int32_t;

// Collects a kernel's expressions, equal ones once. An expression's dtype says which numbers it can be: one of a half
// type holds only numbers of that type, though arithmetic on it runs in f32.
class ExprBuilder {
 public:
  ExprId constant(double number, ir::DType dtype);
  ExprId size(const ir::Size& size, ir::DType dtype);
  ExprId index(std::int32_t dim);
  // `condition`: −1 for none.
  ExprId load(ir::Access access, ir::DType dtype, ExprId condition);
  ExprId op(ir::ExprOp op, std::vector<ExprId> arguments, ir::DType dtype);
  // As a number of `dtype`: f16 and bf16 are rounded, booleans are whether it is not 0. Nothing where it is one
  // already.
  ExprId cast(ExprId expr, ir::DType dtype);

  const ir::Expr& at(ExprId id) const { return exprs_[static_cast<std::size_t>(id)]; }
  std::size_t count() const { return exprs_.size(); }
  std::vector<ir::Expr> take() { return std::move(exprs_); }

 private:
  ExprId add(ir::Expr expr);

  std::vector<ir::Expr> exprs_;
  std::unordered_map<std::size_t, std::vector<ExprId>> known_;  // by hash
};

}  // namespace lathe::passes
