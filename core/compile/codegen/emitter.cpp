#include "core/compile/codegen/emitter.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "core/base/error.h"
#include "core/base/format.h"

namespace lathe::codegen {

using ir::DType;
using ir::Expr;
using ir::ExprOp;

bool is_reduction(ExprOp op) {
  return op == ExprOp::reduce_sum || op == ExprOp::reduce_max;
}

bool is_half(DType dtype) {
  return dtype == DType::f16 || dtype == DType::bf16;
}

Emitter::Emitter(const ir::KernelSpec& kernel, const std::vector<ir::Value>& values)
    : kernel_(kernel), values_(values), row_(static_cast<int>(kernel.domain.size()) - 1) {
  if (row_ < 0) throw Error(ErrorKind::internal, format("kernel {} has no domain", kernel.name));
  find_varying();
}

std::string Emitter::memory_type(DType dtype) {
  switch (dtype) {
    case DType::f64:
      return "double";
    case DType::f32:
      return "float";
    case DType::f16:
      return "f16";
    case DType::bf16:
      return "u16";
    case DType::i64:
      return "i64";
    case DType::i32:
      return "int";
    case DType::i16:
      return "short";
    case DType::i8:
      return "signed char";
    case DType::u8:
    case DType::boolean:
      return "u8";
  }
  return "float";
}

std::string Emitter::variable_type(DType dtype) {
  if (is_half(dtype)) return "float";
  if (dtype == DType::boolean || dtype == DType::u8 || dtype == DType::i8 || dtype == DType::i16) return "int";
  return memory_type(dtype);
}

std::string Emitter::number(double value, DType dtype) const {
  if (dtype == DType::boolean) return value != 0.0 ? "1" : "0";
  const bool whole = dtype != DType::f64 && dtype != DType::f32 && !is_half(dtype);
  if (whole) return std::to_string(static_cast<std::int64_t>(value)) + "ll";
  const bool single = dtype != DType::f64;
  if (std::isnan(value)) return not_a_number(single);
  if (std::isinf(value)) return std::string(value > 0 ? "" : "-") + infinity(single);
  std::array<char, 64> digits{};
  const double shown = single ? static_cast<double>(static_cast<float>(value)) : value;
  std::string text(
      digits.data(),
      std::to_chars(digits.data(), digits.data() + digits.size(), shown, std::chars_format::scientific).ptr);
  return "(" + text + (single ? "f" : "") + ")";
}

std::string Emitter::size_text(const ir::Size& size) const {
  if (size.terms().empty()) return "0ll";
  std::string sum;
  for (const ir::Size::Term& term : size.terms()) {
    std::string product = std::to_string(term.numerator) + "ll";
    for (const ir::SymbolId id : term.factors) {
      const auto found = std::find(kernel_.symbols.begin(), kernel_.symbols.end(), id);
      if (found == kernel_.symbols.end())
        throw Error(ErrorKind::internal, format("kernel {} lacks symbol s{}", kernel_.name, id));
      product += "*" + symbol(static_cast<std::size_t>(found - kernel_.symbols.begin()));
    }
    if (term.denominator != 1) product = format("({})/{}ll", product, term.denominator);
    sum += (sum.empty() ? "" : " + ") + product;
  }
  return "(" + sum + ")";
}

void Emitter::find_varying() {
  varying_.assign(kernel_.exprs.size(), false);
  for (std::size_t i = 0; i < kernel_.exprs.size(); ++i) {
    const Expr& expr = kernel_.exprs[i];
    bool varies = expr.op == ExprOp::cumulative_sum;
    if (expr.op == ExprOp::load) varies = !(expr.access.strides.back() == ir::Size(0));
    if (expr.op == ExprOp::index) varies = expr.dim == row_;
    if (!is_reduction(expr.op)) {
      for (const std::int32_t argument : expr.arguments)
        varies = varies || varying_[static_cast<std::size_t>(argument)];
    }
    varying_[i] = varies;
  }
}

std::string Emitter::base_text(const ir::Access& access) const {
  std::string text = size_text(access.offset);
  for (int dim = 0; dim < row_; ++dim) {
    const ir::Size& stride = access.strides.at(static_cast<std::size_t>(dim));
    if (!(stride == ir::Size(0))) text += format(" + i{}*{}", dim, size_text(stride));
  }
  return text;
}

std::string Emitter::position(const ir::Access& access, const std::string& along) const {
  const ir::Size& stride = access.strides.back();
  if (stride == ir::Size(0)) return "0";
  return stride == ir::Size(1) ? along : format("{}*{}", along, size_text(stride));
}

bool Emitter::known_before(std::int32_t id, std::int32_t sweep, bool buffers) const {
  const Expr& expr = expr_at(id);
  if (expr.sweep >= sweep) return false;
  return is_reduction(expr.op) || !varies(id) || (buffers && expr.keep_in_row_buffer);
}

void Emitter::need(std::int32_t id, std::int32_t sweep, bool buffers, std::set<std::int32_t>& needed) const {
  if (!needed.insert(id).second || known_before(id, sweep, buffers)) return;
  for (const std::int32_t argument : expr_at(id).arguments) need(argument, sweep, buffers, needed);
}

std::set<std::int32_t> Emitter::needed_by(std::int32_t sweep, bool buffers) const {
  std::set<std::int32_t> needed;
  for (std::size_t i = 0; i < kernel_.exprs.size(); ++i) {
    const Expr& expr = kernel_.exprs[i];
    const bool root = is_reduction(expr.op) || (buffers && expr.keep_in_row_buffer) || !varying_[i];
    if (expr.sweep == sweep && root) need(static_cast<std::int32_t>(i), sweep, buffers, needed);
  }
  for (const ir::Store& store : kernel_.stores) {
    if (store_sweep(store) == sweep) need(store.expr, sweep, buffers, needed);
  }
  return needed;
}

std::string Emitter::loaded(std::int32_t id, const std::string& along) const {
  const Expr& expr = expr_at(id);
  std::string element = format("l{}[{}]", id, position(expr.access, along));
  const DType from = dtype_of(expr.access.value);
  if (from == DType::bf16) element = "bf16_load(" + element + ")";
  if (from == DType::f16) element = "f16_load(" + element + ")";
  return expr.arguments.empty() ? element : format("({} ? {} : 0)", name(expr.arguments[0]), element);
}

std::string Emitter::stored(const ir::Store& store, const std::string& value) const {
  const DType to = dtype_of(store.access.value);
  if (to == DType::bf16) return "bf16_store((float)" + value + ")";
  if (to == DType::f16) return "f16_store((float)" + value + ")";
  if (to == DType::boolean) return "(u8)(" + value + " != 0)";
  return "(" + memory_type(to) + ")" + value;
}

std::string Emitter::rounded(std::int32_t id, const std::string& value) const {
  const Expr& expr = expr_at(id);
  if (!expr.round) return value;
  if (expr.dtype == DType::bf16) return "bf16_round(" + value + ")";
  if (expr.dtype == DType::f16) return "f16_round(" + value + ")";
  return value;
}

std::string Emitter::value_text(std::int32_t id, const std::string& along) const {
  const Expr& expr = expr_at(id);
  switch (expr.op) {
    case ExprOp::load:
      return loaded(id, along);
    case ExprOp::constant:
      return number(expr.number, expr.dtype);
    case ExprOp::size:
      return format("({}){}", variable_type(expr.dtype), size_text(expr.size));
    case ExprOp::index:
      return expr.dim == row_ ? along : format("i{}", expr.dim);
    case ExprOp::cumulative_sum:
      return format("(run{} += {})", id, name(expr.arguments[0]));
    default:
      break;
  }
  const std::string a = name(expr.arguments.at(0));
  if (expr.arguments.size() == 1) return unary(expr, a);
  const std::string b = name(expr.arguments[1]);
  if (expr.arguments.size() == 2) return binary(expr, a, b);
  return format("({} ? {} : {})", a, b, name(expr.arguments.at(2)));  // select
}

std::string Emitter::unary(const Expr& expr, const std::string& a) const {
  const std::string one = expr.dtype == DType::f64 ? "1.0" : "1.0f";
  switch (expr.op) {
    case ExprOp::neg:
      return "(-" + a + ")";
    case ExprOp::abs:
      return library(expr, "fabs", a);
    case ExprOp::sqrt:
      return library(expr, "sqrt", a);
    case ExprOp::rsqrt:
      return format("({} / {})", one, library(expr, "sqrt", a));
    case ExprOp::reciprocal:
      return format("({} / {})", one, a);
    case ExprOp::exp:
      return own(expr, "exp", a);
    case ExprOp::expm1:
      return own(expr, "expm1", a);
    case ExprOp::tanh:
      return own(expr, "tanh", a);
    case ExprOp::erf:
      return own(expr, "erf", a);
    case ExprOp::sigmoid:
      return expr.dtype == DType::f64 ? format("(1.0 / (1.0 + {}))", library(expr, "exp", "-" + a))
                                      : "m_sigmoid(" + a + ")";
    case ExprOp::log:
      return library(expr, "log", a);
    case ExprOp::log1p:
      return library(expr, "log1p", a);
    case ExprOp::sin:
      return library(expr, "sin", a);
    case ExprOp::cos:
      return library(expr, "cos", a);
    case ExprOp::floor:
      return library(expr, "floor", a);
    case ExprOp::ceil:
      return library(expr, "ceil", a);
    case ExprOp::round:
      return library(expr, "rint", a);
    case ExprOp::logical_not:
      return "(int)(!" + a + ")";
    case ExprOp::cast:
      return expr.dtype == DType::boolean ? "(int)(" + a + " != 0)" : format("(({}){})", variable_type(expr.dtype), a);
    default:
      throw Error(ErrorKind::internal, format("kernel {}: no operator of one argument", kernel_.name));
  }
}

std::string Emitter::binary(const Expr& expr, const std::string& a, const std::string& b) const {
  const auto infix = [&](std::string_view sign) { return format("({} {} {})", a, sign, b); };
  const std::string type = variable_type(expr.dtype);
  switch (expr.op) {
    case ExprOp::add:
      return infix("+");
    case ExprOp::sub:
      return infix("-");
    case ExprOp::mul:
      return infix("*");
    case ExprOp::div:
      return infix("/");
    case ExprOp::pow:
      return library(expr, "pow", a + ", " + b);
    case ExprOp::minimum:
      return format("m_min(({}){}, ({}){})", type, a, type, b);
    case ExprOp::maximum:
      return format("m_max(({}){}, ({}){})", type, a, type, b);
    case ExprOp::less:
      return infix("<");
    case ExprOp::less_equal:
      return infix("<=");
    case ExprOp::greater:
      return infix(">");
    case ExprOp::greater_equal:
      return infix(">=");
    case ExprOp::equal:
      return infix("==");
    case ExprOp::not_equal:
      return infix("!=");
    case ExprOp::logical_and:
      return format("(int)({} && {})", a, b);
    case ExprOp::logical_or:
      return format("(int)({} || {})", a, b);
    default:
      throw Error(ErrorKind::internal, format("kernel {}: no operator of two arguments", kernel_.name));
  }
}

}  // namespace lathe::codegen
