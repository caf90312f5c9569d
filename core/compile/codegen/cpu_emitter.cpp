#include "core/compile/codegen/cpu_emitter.h"

#include <algorithm>
#include <optional>
#include <set>

#include "core/base/error.h"
#include "core/base/format.h"
#include "core/compile/codegen/cpu_prelude.h"
#include "core/compile/codegen/emitter.h"

namespace lathe::codegen {

using ir::DType;
using ir::Expr;
using ir::ExprOp;
using ir::KernelSpec;

namespace {

constexpr int kLanes = 16;

// Writes one kernel's function.
class CpuEmitter final : public Emitter {
 public:
  using Emitter::Emitter;

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
  std::string library(const Expr& expr, std::string_view function, const std::string& arguments) const override {
    return format("LATHE_M({}{})({})", function, expr.dtype == DType::f64 ? "" : "f", arguments);
  }
  std::string own(const Expr& expr, std::string_view function, const std::string& argument) const override {
    return expr.dtype == DType::f64 ? library(expr, function, argument) : format("m_{}({})", function, argument);
  }
  std::string infinity(bool single) const override { return single ? "__builtin_inff()" : "__builtin_inf()"; }
  std::string not_a_number(bool single) const override {
    return single ? "__builtin_nanf(\"\")" : "__builtin_nan(\"\")";
  }
  std::string symbol(std::size_t position) const override {
    return format("s[{}]", static_cast<std::uint64_t>(position));
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

  void emit_sweep(std::int32_t sweep) {
    const std::set<std::int32_t> needed = needed_by(sweep, true);
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
    if (reduces || loops) emit_loops(sweep, needed, reduces, runs);
    if (reduces) combine(sweep, needed);
    for (std::size_t i = 0; i < kernel_.stores.size(); ++i) {
      const ir::Store& store = kernel_.stores[i];
      if (store.once_a_row && store_sweep(store) == sweep)
        line(format("t{}[0] = {};", i, stored(store, format("e{}", store.expr))));
    }
  }

  void emit_loops(std::int32_t sweep, const std::set<std::int32_t>& needed, bool reduces, bool runs) {
    form_ = runs ? LoopForm::in_order : LoopForm::vector;
    std::vector<std::string> sums;
    for (const std::int32_t id : needed) {
      const Expr& expr = expr_at(id);
      if (!is_reduction(expr.op) || expr.sweep != sweep) continue;
      if (expr.op == ExprOp::reduce_max && !runs) form_ = LoopForm::lanes;
      sums.push_back("acc" + std::to_string(id));
    }
    for (const std::int32_t id : needed) declare_accumulator(id, sweep);
    line("{");  // running sums start anew in each sweep that computes them
    for (const std::int32_t id : needed) {
      if (expr_at(id).op == ExprOp::cumulative_sum)
        line(format("{} run{} = 0; (void)run{};", variable_type(expr_at(id).dtype), id, id));
    }
    const std::vector<std::int64_t> cuts = find_cuts(needed);
    for (std::size_t i = 0; i <= cuts.size(); ++i) {
      part_begin_ = i == 0 ? 0 : cuts[i - 1];
      line(i == 0 ? "{ const i64 a = r0;"
                  : format("{{ const i64 a = r0 > {}ll ? r0 : {}ll;", cuts[i - 1], cuts[i - 1]));
      line(i == cuts.size() ? "const i64 b = r1;" : format("const i64 b = r1 < {}ll ? r1 : {}ll;", cuts[i], cuts[i]));
      emit_loop(sweep, needed, reduces ? format("LATHE_SUMS({})", join(sums, ", ")) : "LATHE_INDEPENDENT");
      line("}");
    }
    part_begin_ = std::nullopt;
    line("}");
  }

  void declare_accumulator(std::int32_t id, std::int32_t sweep) {
    const Expr& expr = expr_at(id);
    if (!is_reduction(expr.op) || expr.sweep != sweep) return;
    const std::string start = expr.op == ExprOp::reduce_sum ? "0" : "-__builtin_inff()";
    const std::string type = variable_type(expr.dtype);
    line(form_ == LoopForm::lanes
             ? format("{} acc{}[{}]; for (int l = 0; l < {}; ++l) acc{}[l] = {};", type, id, kLanes, kLanes, id, start)
             : format("{} acc{} = {};", type, id, start));
  }

  // The row from a to b. `freedom`: what the compiler may assume of a loop over single elements.
  void emit_loop(std::int32_t sweep, const std::set<std::int32_t>& needed, const std::string& freedom) {
    if (form_ == LoopForm::lanes) {
      line("i64 i = a;");
      line(format("for (; i + {} <= b; i += {}) {{ for (int l = 0; l < {}; ++l) {{ const i64 j = i + l;", kLanes,
                  kLanes, kLanes));
      body(sweep, needed);
      line("} }");
      line("for (int l = 0; i < b; ++i, ++l) { const i64 j = i;");
      body(sweep, needed);
      line("}");
      return;
    }
    if (form_ == LoopForm::vector) line(freedom);
    line("for (i64 j = a; j < b; ++j) {");
    body(sweep, needed);
    line("}");
  }

  // --- conditions on the place in the row ---------------------------------------------------------------------------

  // Where a comparison of the place in the row with a number changes: j < 4 and j + 2 >= 6 both at 4.
  std::optional<std::int64_t> change_of(std::int32_t id) const {
    const Expr& expr = expr_at(id);
    if (expr.op != ExprOp::less && expr.op != ExprOp::greater_equal) return std::nullopt;
    const Expr& bound = expr_at(expr.arguments[1]);
    std::int32_t place = expr.arguments[0];
    double offset = 0;
    if (expr_at(place).op == ExprOp::add) {
      const Expr& first = expr_at(expr_at(place).arguments[0]);
      if (first.op != ExprOp::constant) return std::nullopt;
      offset = first.number;
      place = expr_at(place).arguments[1];
    }
    const bool along_row = expr_at(place).op == ExprOp::index && expr_at(place).dim == row_;
    if (!along_row || bound.op != ExprOp::constant) return std::nullopt;
    return static_cast<std::int64_t>(bound.number - offset);
  }

  // Places at which the loop is cut, so that in each part such conditions have one value and nothing is tested an
  // element. Many cuts would be many loops: then the conditions are tested.
  std::vector<std::int64_t> find_cuts(const std::set<std::int32_t>& needed) {
    constexpr std::size_t kMostCuts = 3;
    std::set<std::int64_t> cuts;
    for (const std::int32_t id : needed) {
      const auto change = change_of(id);
      if (change && *change > 0) cuts.insert(*change);
    }
    cuts_ = cuts.size() <= kMostCuts;
    return cuts_ ? std::vector<std::int64_t>(cuts.begin(), cuts.end()) : std::vector<std::int64_t>{};
  }

  std::string element_text(std::int32_t id) const {
    const auto change = change_of(id);
    if (!change || !cuts_ || !part_begin_) return rounded(id, value_text(id, "j"));
    const bool below = *part_begin_ < *change;
    return below == (expr_at(id).op == ExprOp::less) ? "1" : "0";
  }

  void body(std::int32_t sweep, const std::set<std::int32_t>& needed) {
    for (const std::int32_t id : needed) {  // ascending: arguments come first
      const Expr& expr = expr_at(id);
      if (is_reduction(expr.op)) {
        if (expr.sweep != sweep) continue;
        const std::string value = name(expr.arguments[0]);
        const std::string sum = format(form_ == LoopForm::lanes ? "acc{}[l]" : "acc{}", id);
        line(expr.op == ExprOp::reduce_sum ? format("{} += {};", sum, value)
                                           : format("{} = m_max({}, {});", sum, sum, value));
        continue;
      }
      if (!varies(id)) continue;
      if (expr.sweep < sweep && expr.keep_in_row_buffer) {
        line(format("const float e{} = kept[{}*n + j];", id, buffer_index(id)));
        continue;
      }
      line(format("const {} e{} = {}; (void)e{};", variable_type(expr.dtype), id, element_text(id), id));
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
      if (form_ != LoopForm::lanes) {
        line(format("const {} e{} = {};", variable_type(expr.dtype), id, rounded(id, format("acc{}", id))));
        continue;
      }
      const std::string step = expr.op == ExprOp::reduce_sum
                                   ? format("acc{}[l] += acc{}[l + w];", id, id)
                                   : format("acc{}[l] = m_max(acc{}[l], acc{}[l + w]);", id, id, id);
      line(format("for (int w = {}; w > 0; w >>= 1) for (int l = 0; l < w; ++l) {}", kLanes / 2, step));
      line(format("const {} e{} = {};", variable_type(expr.dtype), id, rounded(id, format("acc{}[0]", id))));
    }
  }

  std::int64_t buffer_index(std::int32_t id) const {
    std::int64_t index = 0;
    for (std::int32_t before = 0; before < id; ++before) index += expr_at(before).keep_in_row_buffer ? 1 : 0;
    return index;
  }

  // How a loop over the row is written: one element after another with leave to take many at once and sum in any
  // order; so many lanes side by side, for the largest element, which has no such leave that keeps NaN; in order.
  enum class LoopForm { vector, lanes, in_order } form_ = LoopForm::vector;
  std::optional<std::int64_t> part_begin_;  // of the row, while a part of it is written
  bool cuts_ = false;                       // whether the row is cut where conditions change
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
  std::set<std::string> written;
  for (const KernelSpec& kernel : kernels) {
    if (written.insert(kernel.name).second) source += CpuEmitter(kernel, values).emit();
  }
  return source;
}

}  // namespace lathe::codegen
