#include "core/compile/codegen/cpu_emitter.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <set>

#include "core/base/error.h"
#include "core/base/format.h"
#include "core/compile/codegen/cpu_prelude.h"

namespace lathe::codegen {

using ir::DType;
using ir::Expr;
using ir::ExprOp;
using ir::KernelSpec;

namespace {

constexpr int kLanes = 16;

bool is_reduction(ExprOp op) {
  return op == ExprOp::reduce_sum || op == ExprOp::reduce_max;
}

bool is_half(DType dtype) {
  return dtype == DType::f16 || dtype == DType::bf16;
}

// Type in memory, and type of a variable that holds one element.
std::string memory_type(DType dtype) {
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

std::string variable_type(DType dtype) {
  if (is_half(dtype)) return "float";
  if (dtype == DType::boolean || dtype == DType::u8 || dtype == DType::i8 || dtype == DType::i16) return "int";
  return memory_type(dtype);
}

std::string number(double value, DType dtype) {
  if (dtype == DType::boolean) return value != 0.0 ? "1" : "0";
  const bool whole = dtype != DType::f64 && dtype != DType::f32 && !is_half(dtype);
  if (whole) return std::to_string(static_cast<std::int64_t>(value)) + "ll";
  const bool single = dtype != DType::f64;
  if (std::isnan(value)) return single ? "__builtin_nanf(\"\")" : "__builtin_nan(\"\")";
  if (std::isinf(value)) return std::string(value > 0 ? "" : "-") + (single ? "__builtin_inff()" : "__builtin_inf()");
  std::array<char, 64> digits{};
  const double shown = single ? static_cast<double>(static_cast<float>(value)) : value;
  std::string text(
      digits.data(),
      std::to_chars(digits.data(), digits.data() + digits.size(), shown, std::chars_format::scientific).ptr);
  return "(" + text + (single ? "f" : "") + ")";
}

// Writes one kernel's function.
class KernelEmitter {
 public:
  KernelEmitter(const KernelSpec& kernel, const std::vector<ir::Value>& values)
      : kernel_(kernel), values_(values), row_(static_cast<int>(kernel.domain.size()) - 1) {
    if (row_ < 0) throw Error(ErrorKind::internal, format("kernel {} has no domain", kernel.name));
    find_varying();
  }

  std::string emit() {
    line(format("LATHE_EXPORT void {}(void* const* p, const i64* s, i64 o0, i64 o1, i64 r0, i64 r1) {{", kernel_.name));
    line("(void)s; (void)r0; (void)r1;");
    pointers();
    line(format("const i64 n = {};", size_text(kernel_.domain.back())));
    if (!splits_row(kernel_)) line("r0 = 0; r1 = n;");
    line("for (i64 o = o0; o < o1; ++o) {");
    outer_indices();
    bases();
    for (std::int32_t sweep = 0; sweep < kernel_.sweeps; ++sweep) emit_sweep(sweep);
    line("}");
    line("}");
    return std::move(text_);
  }

 private:
  void line(const std::string& text) { text_ += text + "\n"; }

  DType dtype_of(ir::ValueId id) const { return values_.at(static_cast<std::size_t>(id)).dtype; }

  std::string size_text(const ir::Size& size) const {
    if (size.terms().empty()) return "0ll";
    std::string sum;
    for (const ir::Size::Term& term : size.terms()) {
      std::string product = std::to_string(term.numerator) + "ll";
      for (const ir::SymbolId id : term.factors) {
        const auto found = std::find(kernel_.symbols.begin(), kernel_.symbols.end(), id);
        if (found == kernel_.symbols.end())
          throw Error(ErrorKind::internal, format("kernel {} lacks symbol s{}", kernel_.name, id));
        product += format("*s[{}]", static_cast<std::int64_t>(found - kernel_.symbols.begin()));
      }
      if (term.denominator != 1) product = format("({})/{}ll", product, term.denominator);
      sum += (sum.empty() ? "" : " + ") + product;
    }
    return "(" + sum + ")";
  }

  // Which expressions change along the row; the others are computed once an outer index.
  void find_varying() {
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

  void pointers() {
    std::size_t slot = 0;
    for (const ir::ValueId id : kernel_.inputs) {
      const std::string type = memory_type(dtype_of(id));
      line(format("const {}* LATHE_RESTRICT v{} = (const {}*)p[{}];", type, id, type, slot++));
    }
    for (const ir::ValueId id : kernel_.outputs) {
      const std::string type = memory_type(dtype_of(id));
      line(format("{}* LATHE_RESTRICT v{} = ({}*)p[{}];", type, id, type, slot++));
    }
    if (row_buffers(kernel_) > 0) line(format("float* LATHE_RESTRICT kept = (float*)p[{}];", slot));
  }

  void outer_indices() {
    line("i64 q = o; (void)q;");
    for (int dim = row_ - 1; dim >= 0; --dim) {
      const std::string size = size_text(kernel_.domain[static_cast<std::size_t>(dim)]);
      line(dim == 0 ? format("const i64 i0 = q; (void)i0;")
                    : format("const i64 i{} = q % {}; q /= {}; (void)i{};", dim, size, size, dim));
    }
  }

  std::string base_text(const ir::Access& access) const {
    std::string text = size_text(access.offset);
    for (int dim = 0; dim < row_; ++dim) {
      const ir::Size& stride = access.strides.at(static_cast<std::size_t>(dim));
      if (!(stride == ir::Size(0))) text += format(" + i{}*{}", dim, size_text(stride));
    }
    return text;
  }

  void bases() {
    for (std::size_t i = 0; i < kernel_.exprs.size(); ++i) {
      const Expr& expr = kernel_.exprs[i];
      if (expr.op != ExprOp::load) continue;
      line(format("const {}* LATHE_RESTRICT l{} = v{} + {};", memory_type(dtype_of(expr.access.value)), i,
                  expr.access.value, base_text(expr.access)));
    }
    for (std::size_t i = 0; i < kernel_.stores.size(); ++i) {
      const ir::Access& access = kernel_.stores[i].access;
      line(format("{}* LATHE_RESTRICT t{} = v{} + {};", memory_type(dtype_of(access.value)), i, access.value,
                  base_text(access)));
    }
  }

  // --- one sweep ----------------------------------------------------------------------------------------------------

  const Expr& expr_at(std::int32_t id) const { return kernel_.exprs[static_cast<std::size_t>(id)]; }
  bool varies(std::int32_t id) const { return varying_[static_cast<std::size_t>(id)]; }

  // Adds `id` and what it needs to `needed`, stopping at what is known before the sweep begins.
  void need(std::int32_t id, std::int32_t sweep, std::set<std::int32_t>& needed) const {
    const Expr& expr = expr_at(id);
    const bool known =
        is_reduction(expr.op) ? expr.sweep < sweep : expr.sweep < sweep && (!varies(id) || expr.keep_in_row_buffer);
    if (!needed.insert(id).second || known) return;
    for (const std::int32_t argument : expr.arguments) need(argument, sweep, needed);
  }

  std::set<std::int32_t> roots(std::int32_t sweep) const {
    std::set<std::int32_t> roots;
    for (std::size_t i = 0; i < kernel_.exprs.size(); ++i) {
      const Expr& expr = kernel_.exprs[i];
      const bool root = is_reduction(expr.op) || expr.keep_in_row_buffer || !varying_[i];
      if (expr.sweep == sweep && root) roots.insert(static_cast<std::int32_t>(i));
    }
    for (const ir::Store& store : kernel_.stores) {
      if (store_sweep(store) == sweep) roots.insert(store.expr);
    }
    return roots;
  }

  // A reduction is known when its sweep has ended, so it is stored after that sweep.
  std::int32_t store_sweep(const ir::Store& store) const { return expr_at(store.expr).sweep; }

  void emit_sweep(std::int32_t sweep) {
    std::set<std::int32_t> needed;
    for (const std::int32_t root : roots(sweep)) need(root, sweep, needed);
    bool reduces = false, runs = false, loops = false;
    for (const std::int32_t id : needed) {
      const Expr& expr = expr_at(id);
      if (is_reduction(expr.op) && expr.sweep == sweep) reduces = true;
      runs = runs || (expr.op == ExprOp::cumulative_sum && !(expr.sweep < sweep && expr.keep_in_row_buffer));
    }
    for (const ir::Store& store : kernel_.stores) loops = loops || (store_sweep(store) == sweep && !store.once_a_row);
    for (const std::int32_t id : needed)
      loops = loops || (expr_at(id).keep_in_row_buffer && expr_at(id).sweep == sweep);

    // Values that do not change along the row, unless they wait for a reduction of this very sweep.
    for (const std::int32_t id : needed) {
      const Expr& expr = expr_at(id);
      if (varies(id) || is_reduction(expr.op) || expr.sweep < sweep) continue;
      line(format("const {} e{} = {};", variable_type(expr.dtype), id, rounded(id, value_text(id, "0"))));
    }
    if (reduces || loops) emit_loop(sweep, needed, reduces, runs);
    if (reduces) combine(sweep, needed);
    for (std::size_t i = 0; i < kernel_.stores.size(); ++i) {
      const ir::Store& store = kernel_.stores[i];
      if (store.once_a_row && store_sweep(store) == sweep)
        line(format("t{}[0] = {};", i, stored(store, format("e{}", store.expr))));
    }
  }

  void emit_loop(std::int32_t sweep, const std::set<std::int32_t>& needed, bool reduces, bool runs) {
    for (const std::int32_t id : needed) {
      const Expr& expr = expr_at(id);
      if (!is_reduction(expr.op) || expr.sweep != sweep) continue;
      const std::string start = expr.op == ExprOp::reduce_sum ? "0" : "-__builtin_inff()";
      line(format("{} acc{}[{}]; for (int l = 0; l < {}; ++l) acc{}[l] = {};", variable_type(expr.dtype), id, kLanes,
                  kLanes, id, start));
    }
    line("{");  // running sums start anew in each sweep that computes them
    for (const std::int32_t id : needed) {
      if (expr_at(id).op == ExprOp::cumulative_sum)
        line(format("{} run{} = 0; (void)run{};", variable_type(expr_at(id).dtype), id, id));
    }
    if (reduces && !runs) {
      line("{ i64 i = r0;");
      line(format("for (; i + {} <= r1; i += {}) {{ for (int l = 0; l < {}; ++l) {{ const i64 j = i + l;", kLanes,
                  kLanes, kLanes));
      body(sweep, needed);
      line("} }");
      line("for (int l = 0; i < r1; ++i, ++l) { const i64 j = i;");
      body(sweep, needed);
      line("} }");
    } else {
      if (!runs) line("#if defined(__GNUC__) && !defined(__clang__)\n#pragma GCC ivdep\n#endif");
      line("for (i64 j = r0; j < r1; ++j) { const int l = 0; (void)l;");
      body(sweep, needed);
      line("}");
    }
    line("}");
  }

  void body(std::int32_t sweep, const std::set<std::int32_t>& needed) {
    for (const std::int32_t id : needed) {  // ascending: arguments come first
      const Expr& expr = expr_at(id);
      if (is_reduction(expr.op)) {
        if (expr.sweep != sweep) continue;
        const std::string value = name(expr.arguments[0]);
        line(expr.op == ExprOp::reduce_sum ? format("acc{}[l] += {};", id, value)
                                           : format("acc{}[l] = m_max(acc{}[l], {});", id, id, value));
        continue;
      }
      if (!varies(id)) continue;
      if (expr.sweep < sweep && expr.keep_in_row_buffer) {
        line(format("const float e{} = kept[{}*n + j];", id, buffer_index(id)));
        continue;
      }
      line(format("const {} e{} = {};", variable_type(expr.dtype), id, rounded(id, value_text(id, "j"))));
      if (expr.keep_in_row_buffer && expr.sweep == sweep) line(format("kept[{}*n + j] = e{};", buffer_index(id), id));
    }
    for (std::size_t i = 0; i < kernel_.stores.size(); ++i) {
      const ir::Store& store = kernel_.stores[i];
      if (store.once_a_row || store_sweep(store) != sweep) continue;
      line(format("t{}[{}] = {};", i, position(store.access, "j"), stored(store, name(store.expr))));
    }
  }

  void combine(std::int32_t sweep, const std::set<std::int32_t>& needed) {
    for (const std::int32_t id : needed) {
      const Expr& expr = expr_at(id);
      if (!is_reduction(expr.op) || expr.sweep != sweep) continue;
      const std::string step = expr.op == ExprOp::reduce_sum
                                   ? format("acc{}[l] += acc{}[l + w];", id, id)
                                   : format("acc{}[l] = m_max(acc{}[l], acc{}[l + w]);", id, id, id);
      line(format("for (int w = {}; w > 0; w >>= 1) for (int l = 0; l < w; ++l) {}", kLanes / 2, step));
      line(format("const {} e{} = {};", variable_type(expr.dtype), id, rounded(id, format("acc{}[0]", id))));
    }
  }

  // --- expressions --------------------------------------------------------------------------------------------------

  std::string name(std::int32_t id) const { return "e" + std::to_string(id); }

  std::int64_t buffer_index(std::int32_t id) const {
    std::int64_t index = 0;
    for (std::int32_t before = 0; before < id; ++before) index += expr_at(before).keep_in_row_buffer ? 1 : 0;
    return index;
  }

  std::string position(const ir::Access& access, const std::string& along) const {
    const ir::Size& stride = access.strides.back();
    if (stride == ir::Size(0)) return "0";
    return stride == ir::Size(1) ? along : format("{}*{}", along, size_text(stride));
  }

  std::string loaded(std::int32_t id, const std::string& along) const {
    const Expr& expr = expr_at(id);
    std::string element = format("l{}[{}]", id, position(expr.access, along));
    const DType from = dtype_of(expr.access.value);
    if (from == DType::bf16) element = "bf16_load(" + element + ")";
    if (from == DType::f16) element = "f16_load(" + element + ")";
    return expr.arguments.empty() ? element : format("({} ? {} : 0)", name(expr.arguments[0]), element);
  }

  std::string stored(const ir::Store& store, const std::string& value) const {
    const DType to = dtype_of(store.access.value);
    if (to == DType::bf16) return "bf16_store((float)" + value + ")";
    if (to == DType::f16) return "f16_store((float)" + value + ")";
    if (to == DType::boolean) return "(u8)(" + value + " != 0)";
    return "(" + memory_type(to) + ")" + value;
  }

  std::string rounded(std::int32_t id, const std::string& value) const {
    const Expr& expr = expr_at(id);
    if (!expr.round) return value;
    if (expr.dtype == DType::bf16) return "bf16_round(" + value + ")";
    if (expr.dtype == DType::f16) return "f16_round(" + value + ")";
    return value;
  }

  // A function of the C library in the precision of the expression.
  std::string library(const Expr& expr, std::string_view function, const std::string& arguments) const {
    return format("LATHE_M({}{})({})", function, expr.dtype == DType::f64 ? "" : "f", arguments);
  }
  // One of the prelude's for f32, the C library's for f64.
  std::string own(const Expr& expr, std::string_view function, const std::string& argument) const {
    return expr.dtype == DType::f64 ? library(expr, function, argument) : format("m_{}({})", function, argument);
  }

  std::string value_text(std::int32_t id, const std::string& along) const {
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

  std::string unary(const Expr& expr, const std::string& a) const {
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
        return expr.dtype == DType::boolean ? "(int)(" + a + " != 0)"
                                            : format("(({}){})", variable_type(expr.dtype), a);
      default:
        throw Error(ErrorKind::internal, format("kernel {}: no operator of one argument", kernel_.name));
    }
  }

  std::string binary(const Expr& expr, const std::string& a, const std::string& b) const {
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

  const KernelSpec& kernel_;
  const std::vector<ir::Value>& values_;
  int row_;
  std::vector<bool> varying_;
  std::string text_;
};

}  // namespace

bool splits_row(const KernelSpec& kernel) {
  return std::none_of(kernel.exprs.begin(), kernel.exprs.end(),
                      [](const Expr& expr) { return is_reduction(expr.op) || expr.op == ExprOp::cumulative_sum; }) &&
         std::none_of(kernel.stores.begin(), kernel.stores.end(),
                      [](const ir::Store& store) { return store.once_a_row; });
}

std::int32_t row_buffers(const KernelSpec& kernel) {
  return static_cast<std::int32_t>(std::count_if(kernel.exprs.begin(), kernel.exprs.end(),
                                                 [](const Expr& expr) { return expr.keep_in_row_buffer; }));
}

std::string emit_cpu(std::span<const KernelSpec> kernels, const std::vector<ir::Value>& values) {
  std::string source(cpu_prelude());
  for (const KernelSpec& kernel : kernels) source += KernelEmitter(kernel, values).emit();
  return source;
}

}  // namespace lathe::codegen
