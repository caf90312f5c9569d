#include "core/compile/passes/loop_order.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "core/compile/ir/shape.h"

namespace lathe::passes {

using ir::DType;
using ir::Expr;
using ir::ExprOp;
using ir::KernelSpec;
using ir::Size;

namespace {

constexpr double kCachedByte = 0.5;        // read again, or of a small operand that stays in the cache
constexpr double kWorthKeeping = 5.0;      // cost beyond which a value is kept in the row buffer
constexpr double kSmallBytes = 64 * 1024;  // operands below are taken to stay in the cache

bool is_reduction(ExprOp op) {
  return op == ExprOp::reduce_sum || op == ExprOp::reduce_max;
}

double cost_of(ExprOp op) {
  switch (op) {
    case ExprOp::constant:
    case ExprOp::size:
    case ExprOp::index:
      return 0.0;
    case ExprOp::div:
    case ExprOp::sqrt:
    case ExprOp::rsqrt:
    case ExprOp::reciprocal:
      return 4.0;
    case ExprOp::exp:
    case ExprOp::expm1:
    case ExprOp::tanh:
    case ExprOp::erf:
    case ExprOp::sigmoid:
      return 20.0;
    case ExprOp::log:
    case ExprOp::log1p:
    case ExprOp::sin:
    case ExprOp::cos:
    case ExprOp::pow:
      return 60.0;
    default:
      return 1.0;
  }
}

double cost_of(const Expr& expr) {
  return cost_of(expr.op) + (expr.round ? 4.0 : 0.0);
}

std::size_t at(std::int32_t id) {
  return static_cast<std::size_t>(id);
}

// Which expressions change along the row.
std::vector<bool> find_varying(const KernelSpec& kernel) {
  std::vector<bool> varies(kernel.exprs.size(), false);
  const auto row = static_cast<std::int32_t>(kernel.domain.size()) - 1;
  for (std::size_t i = 0; i < kernel.exprs.size(); ++i) {
    const Expr& expr = kernel.exprs[i];
    if (expr.op == ExprOp::load) varies[i] = !(expr.access.strides.back() == Size(0));
    if (expr.op == ExprOp::index) varies[i] = expr.dim == row;
    if (expr.op == ExprOp::cumulative_sum) varies[i] = true;
    if (is_reduction(expr.op)) continue;
    for (const std::int32_t argument : expr.arguments) varies[i] = varies[i] || varies[at(argument)];
  }
  return varies;
}

template <class F>
void for_each_access(KernelSpec& kernel, F&& visit) {
  for (Expr& expr : kernel.exprs) {
    if (expr.op == ExprOp::load) visit(expr.access);
  }
  for (ir::Store& store : kernel.stores) visit(store.access);
}

template <class T>
void permute(std::vector<T>& items, const std::vector<std::size_t>& order) {
  std::vector<T> result;
  for (const std::size_t from : order) result.push_back(items[from]);
  items = std::move(result);
}

void reorder(KernelSpec& kernel, std::size_t movable, std::span<const std::int64_t> hints) {
  std::vector<std::size_t> order(kernel.domain.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const std::vector<Size> strides = kernel.stores.front().access.strides;
  std::stable_sort(
      order.begin(), order.begin() + static_cast<std::ptrdiff_t>(movable),
      [&](std::size_t a, std::size_t b) { return strides[a].evaluate(hints) > strides[b].evaluate(hints); });
  if (std::is_sorted(order.begin(), order.end())) return;
  permute(kernel.domain, order);
  for_each_access(kernel, [&](ir::Access& access) { permute(access.strides, order); });
  for (Expr& expr : kernel.exprs) {
    if (expr.op != ExprOp::index) continue;
    const auto moved = std::find(order.begin(), order.end(), at(expr.dim));
    expr.dim = static_cast<std::int32_t>(moved - order.begin());
  }
}

// Makes one dimension of `dim` and the one after it, where every access allows.
bool merge_with_next(KernelSpec& kernel, std::size_t dim) {
  for (const Expr& expr : kernel.exprs) {
    if (expr.op == ExprOp::index && (at(expr.dim) == dim || at(expr.dim) == dim + 1)) return false;
  }
  bool fits = true;
  for_each_access(kernel, [&](const ir::Access& access) {
    fits = fits && access.strides[dim] == access.strides[dim + 1] * kernel.domain[dim + 1];
  });
  if (!fits) return false;
  const auto place = static_cast<std::ptrdiff_t>(dim);
  kernel.domain[dim + 1] = kernel.domain[dim] * kernel.domain[dim + 1];
  kernel.domain.erase(kernel.domain.begin() + place);
  for_each_access(kernel, [&](ir::Access& access) { access.strides.erase(access.strides.begin() + place); });
  for (Expr& expr : kernel.exprs) {
    if (expr.op == ExprOp::index && at(expr.dim) > dim) --expr.dim;
  }
  return true;
}

// Moves what changes along the row from the first sweep that could compute it to the first that reads it: nothing is
// computed, let alone kept, before it is of use. What is stored stays, and so do sums.
void delay(KernelSpec& kernel, const std::vector<bool>& varies) {
  std::vector<std::int32_t> first_reader(kernel.exprs.size(), INT32_MAX);
  for (const ir::Store& store : kernel.stores) first_reader[at(store.expr)] = kernel.exprs[at(store.expr)].sweep;
  for (std::size_t i = kernel.exprs.size(); i-- > 0;) {
    Expr& expr = kernel.exprs[i];
    const bool moves = varies[i] && !is_reduction(expr.op) && first_reader[i] != INT32_MAX;
    if (moves) expr.sweep = std::max(expr.sweep, first_reader[i]);
    for (const std::int32_t argument : expr.arguments)
      first_reader[at(argument)] = std::min(first_reader[at(argument)], expr.sweep);
  }
}

void choose_kept(KernelSpec& kernel, const std::vector<bool>& varies) {
  std::vector<std::int32_t> last_reader(kernel.exprs.size(), 0);
  for (const Expr& expr : kernel.exprs) {
    for (const std::int32_t argument : expr.arguments)
      last_reader[at(argument)] = std::max(last_reader[at(argument)], expr.sweep);
  }
  // From the first: whether an argument is kept changes what those that read it cost.
  std::vector<double> again(kernel.exprs.size(), 0.0);
  for (std::size_t i = 0; i < kernel.exprs.size(); ++i) {
    Expr& expr = kernel.exprs[i];
    if (!varies[i] || is_reduction(expr.op)) continue;
    again[i] = cost_of(expr);
    for (const std::int32_t argument : expr.arguments) {
      const Expr& needed = kernel.exprs[at(argument)];
      again[i] += needed.keep_in_row_buffer ? 1.0 : again[at(argument)];
    }
    const bool single = expr.dtype == DType::f32 || expr.dtype == DType::bf16 || expr.dtype == DType::f16;
    expr.keep_in_row_buffer = single && last_reader[i] > expr.sweep && again[i] > kWorthKeeping;
  }
}

void add_symbols(const Size& size, std::set<ir::SymbolId>& symbols) {
  for (const Size::Term& term : size.terms()) symbols.insert(term.factors.begin(), term.factors.end());
}

}  // namespace

void drop_unused(KernelSpec& kernel) {
  std::vector<bool> used(kernel.exprs.size(), false);
  for (const ir::Store& store : kernel.stores) used[at(store.expr)] = true;
  for (std::size_t i = kernel.exprs.size(); i-- > 0;) {
    if (!used[i]) continue;
    for (const std::int32_t argument : kernel.exprs[i].arguments) used[at(argument)] = true;
  }
  std::vector<std::int32_t> moved(kernel.exprs.size(), -1);
  std::vector<Expr> kept;
  for (std::size_t i = 0; i < kernel.exprs.size(); ++i) {
    if (!used[i]) continue;
    moved[i] = static_cast<std::int32_t>(kept.size());
    kept.push_back(std::move(kernel.exprs[i]));
    for (std::int32_t& argument : kept.back().arguments) argument = moved[at(argument)];
  }
  kernel.exprs = std::move(kept);
  for (ir::Store& store : kernel.stores) store.expr = moved[at(store.expr)];
}

void arrange_dimensions(KernelSpec& kernel, bool has_row, std::span<const std::int64_t> hints) {
  const std::size_t movable = kernel.domain.size() - (has_row ? 1 : 0);
  if (!has_row) reorder(kernel, movable, hints);
  for (std::size_t dim = kernel.domain.size() - (has_row ? 1 : 0); dim-- > 1;) merge_with_next(kernel, dim - 1);
}

void assign_sweeps(KernelSpec& kernel) {
  const std::vector<bool> varies = find_varying(kernel);
  for (Expr& expr : kernel.exprs) {
    expr.sweep = 0;
    for (const std::int32_t argument : expr.arguments) {
      const Expr& needed = kernel.exprs[at(argument)];
      expr.sweep = std::max(expr.sweep, needed.sweep + (is_reduction(needed.op) ? 1 : 0));
    }
    kernel.sweeps = std::max(kernel.sweeps, expr.sweep + 1);
  }
  delay(kernel, varies);
  choose_kept(kernel, varies);
}

void collect_arguments(KernelSpec& kernel) {
  std::set<ir::SymbolId> symbols;
  const auto note = [](std::vector<ir::ValueId>& list, ir::ValueId id) {
    if (std::find(list.begin(), list.end(), id) == list.end()) list.push_back(id);
  };
  for (const Expr& expr : kernel.exprs) {
    add_symbols(expr.size, symbols);
    if (expr.op == ExprOp::load) note(kernel.inputs, expr.access.value);
  }
  for (const ir::Store& store : kernel.stores) note(kernel.outputs, store.access.value);
  for (const Size& size : kernel.domain) add_symbols(size, symbols);
  for_each_access(kernel, [&](const ir::Access& access) {
    add_symbols(access.offset, symbols);
    for (const Size& stride : access.strides) add_symbols(stride, symbols);
  });
  kernel.symbols.assign(symbols.begin(), symbols.end());
}

double estimate_cost(const KernelSpec& kernel, const std::vector<ir::Value>& values,
                     std::span<const std::int64_t> hints) {
  const auto elements = [&](const ir::Value& value) {
    return static_cast<double>(ir::element_count(value.sizes).evaluate(hints));
  };
  const auto rows =
      static_cast<double>(ir::element_count(std::span(kernel.domain).first(kernel.domain.size() - 1)).evaluate(hints));
  const double all = rows * static_cast<double>(kernel.domain.back().evaluate(hints));
  const std::vector<bool> varies = find_varying(kernel);
  double cost = kKernelStart;
  for (const auto* list : {&kernel.inputs, &kernel.outputs}) {
    for (const ir::ValueId id : *list) {
      const ir::Value& value = values[at(id)];
      const double bytes = elements(value) * static_cast<double>(ir::byte_size(value.dtype));
      cost += bytes * (bytes < kSmallBytes ? kCachedByte : kByteOfTraffic);
    }
  }
  for (std::size_t i = 0; i < kernel.exprs.size(); ++i) {
    const Expr& expr = kernel.exprs[i];
    double once = cost_of(expr);
    if (expr.op == ExprOp::load)
      once = kCachedByte * static_cast<double>(ir::byte_size(values[at(expr.access.value)].dtype));
    cost += once * (varies[i] || is_reduction(expr.op) ? all : rows);
  }
  return cost;
}

}  // namespace lathe::passes
