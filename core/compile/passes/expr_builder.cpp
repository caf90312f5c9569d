#include "core/compile/passes/expr_builder.h"

#include <bit>
#include <cmath>
#include <functional>
#include <utility>

namespace lathe::passes {

using ir::DType;
using ir::Expr;
using ir::ExprOp;

namespace {

void mix(std::size_t& hash, std::size_t more) {
  hash ^= more + 0x9e3779b97f4a7c15u + (hash << 6) + (hash >> 2);
}

void mix(std::size_t& hash, const ir::Size& size) {
  for (const ir::Size::Term& term : size.terms()) {
    mix(hash, static_cast<std::size_t>(term.numerator));
    for (const ir::SymbolId id : term.factors) mix(hash, static_cast<std::size_t>(id) + 17);
  }
}

std::size_t hash_of(const Expr& expr) {
  std::size_t hash = static_cast<std::size_t>(expr.op);
  mix(hash, static_cast<std::size_t>(expr.dtype));
  for (const ExprId argument : expr.arguments) mix(hash, static_cast<std::size_t>(argument));
  mix(hash, static_cast<std::size_t>(std::bit_cast<std::uint64_t>(expr.number)));
  mix(hash, expr.size);
  mix(hash, static_cast<std::size_t>(expr.dim));
  mix(hash, static_cast<std::size_t>(expr.access.value));
  for (const ir::Size& stride : expr.access.strides) mix(hash, stride);
  mix(hash, expr.access.offset);
  return hash;
}

bool same(const Expr& a, const Expr& b) {
  return a.op == b.op && a.dtype == b.dtype && a.round == b.round && a.dim == b.dim && a.arguments == b.arguments &&
         std::bit_cast<std::uint64_t>(a.number) == std::bit_cast<std::uint64_t>(b.number) && a.size == b.size &&
         a.access.value == b.access.value && a.access.offset == b.access.offset && a.access.strides == b.access.strides;
}

double rounded_to(double number, DType dtype) {
  if (dtype != DType::bf16) return number;
  const float single = static_cast<float>(number);
  if (!std::isfinite(single)) return static_cast<double>(single);
  const auto bits = std::bit_cast<std::uint32_t>(single);
  const std::uint32_t kept = (bits + 0x7fffu + ((bits >> 16) & 1u)) & 0xffff0000u;
  return static_cast<double>(std::bit_cast<float>(kept));
}

}  // namespace

bool is_half(DType dtype) {
  return dtype == DType::f16 || dtype == DType::bf16;
}

bool is_float(DType dtype) {
  return is_half(dtype) || dtype == DType::f32 || dtype == DType::f64;
}

DType compute_type(DType dtype) {
  return is_half(dtype) ? DType::f32 : dtype;
}

ExprId ExprBuilder::add(Expr expr) {
  auto& candidates = known_[hash_of(expr)];
  for (const ExprId id : candidates) {
    if (same(at(id), expr)) return id;
  }
  const auto id = static_cast<ExprId>(exprs_.size());
  candidates.push_back(id);
  exprs_.push_back(std::move(expr));
  return id;
}

ExprId ExprBuilder::constant(double number, DType dtype) {
  Expr expr;
  expr.op = ExprOp::constant;
  expr.number = number;
  expr.dtype = dtype;
  return add(std::move(expr));
}

ExprId ExprBuilder::size(const ir::Size& size, DType dtype) {
  if (const auto number = size.constant()) return constant(static_cast<double>(*number), dtype);
  Expr expr;
  expr.op = ExprOp::size;
  expr.size = size;
  expr.dtype = dtype;
  return add(std::move(expr));
}

ExprId ExprBuilder::index(std::int32_t dim) {
  Expr expr;
  expr.op = ExprOp::index;
  expr.dim = dim;
  expr.dtype = DType::i64;
  return add(std::move(expr));
}

ExprId ExprBuilder::load(ir::Access access, DType dtype, ExprId condition) {
  Expr expr;
  expr.op = ExprOp::load;
  expr.access = std::move(access);
  expr.dtype = dtype;
  if (condition >= 0) expr.arguments = {condition};
  return add(std::move(expr));
}

ExprId ExprBuilder::op(ExprOp op, std::vector<ExprId> arguments, DType dtype) {
  Expr expr;
  expr.op = op;
  expr.arguments = std::move(arguments);
  expr.dtype = dtype;
  return add(std::move(expr));
}

ExprId ExprBuilder::cast(ExprId id, DType dtype) {
  const Expr& from = at(id);
  if (from.dtype == dtype) return id;
  if (is_half(from.dtype) && dtype == DType::f32) return id;  // the variable that holds it is an f32
  if (from.op == ExprOp::constant && is_float(dtype) && dtype != DType::f16)
    return constant(rounded_to(from.number, dtype), dtype);
  Expr expr;
  expr.op = ExprOp::cast;
  expr.arguments = {id};
  expr.dtype = dtype;
  expr.round = is_half(dtype);
  return add(std::move(expr));
}

}  // namespace lathe::passes
