#include "core/compile/codegen/cuda_emitter.h"

#include "core/base/format.h"
#include "core/compile/codegen/cuda_prelude.h"
#include "core/compile/codegen/emitter.h"

namespace lathe::codegen {

using ir::DType;
using ir::Expr;
using ir::ExprOp;
using ir::KernelSpec;

namespace {

class CudaEmitter final : public Emitter {
 public:
  CudaEmitter(const KernelSpec& kernel, const std::vector<ir::Value>& values)
      : Emitter(kernel, values), mapping_(mapping(kernel)) {}

  std::string emit() {
    line(format("extern \"C\" __global__ void {}({}) {{", kernel_.name, parameters()));
    line(format("const i64 n = {};", size_text(kernel_.domain.back())));
    switch (mapping_) {
      case CudaMapping::elements:
        line(
            "for (i64 at = (i64)blockIdx.x * blockDim.x + threadIdx.x; at < outer * n; at += (i64)gridDim.x * "
            "blockDim.x) {");
        line("const i64 o = at / n; const i64 j = at - o * n;");
        break;
      case CudaMapping::block_a_row:
        line("__shared__ double shared[32];");
        line("for (i64 o = blockIdx.x; o < outer; o += gridDim.x) {");
        break;
      case CudaMapping::thread_a_row:
        line("for (i64 o = (i64)blockIdx.x * blockDim.x + threadIdx.x; o < outer; o += (i64)gridDim.x * blockDim.x) {");
        break;
    }
    outer_indices();
    bases();
    for (std::int32_t sweep = 0; sweep < kernel_.sweeps; ++sweep) emit_sweep(sweep);
    line("}");
    line("}");
    return std::move(text_);
  }

 private:
  std::string library(const Expr& expr, std::string_view function, const std::string& arguments) const override {
    return format("{}{}({})", function, expr.dtype == DType::f64 ? "" : "f", arguments);
  }
  std::string own(const Expr& expr, std::string_view function, const std::string& argument) const override {
    return expr.dtype == DType::f64 ? library(expr, function, argument) : format("m_{}({})", function, argument);
  }
  std::string infinity(bool single) const override {
    return single ? "__int_as_float(0x7f800000)" : "__longlong_as_double(0x7ff0000000000000ll)";
  }
  std::string not_a_number(bool single) const override {
    return single ? "__int_as_float(0x7fc00000)" : "__longlong_as_double(0x7ff8000000000000ll)";
  }
  std::string symbol(std::size_t position) const override {
    return format("s{}", static_cast<std::uint64_t>(position));
  }

  std::string parameters() const {
    std::vector<std::string> parts;
    for (const ir::ValueId id : kernel_.inputs)
      parts.push_back(format("const {}* __restrict__ v{}", memory_type(dtype_of(id)), id));
    for (const ir::ValueId id : kernel_.outputs)
      parts.push_back(format("{}* __restrict__ v{}", memory_type(dtype_of(id)), id));
    for (std::size_t i = 0; i < kernel_.symbols.size(); ++i) parts.push_back("i64 " + symbol(i));
    parts.emplace_back("i64 outer");
    return join(parts, ", ");
  }

  void outer_indices() {
    line("i64 q = o; (void)q;");
    for (int dim = row_ - 1; dim >= 0; --dim) {
      const std::string size = size_text(kernel_.domain[static_cast<std::size_t>(dim)]);
      line(dim == 0 ? std::string("const i64 i0 = q; (void)i0;")
                    : format("const i64 i{} = q % {}; q /= {}; (void)i{};", dim, size, size, dim));
    }
  }

  void bases() {
    for (std::size_t i = 0; i < kernel_.exprs.size(); ++i) {
      const Expr& expr = kernel_.exprs[i];
      if (expr.op != ExprOp::load) continue;
      line(format("const {}* __restrict__ l{} = v{} + {};", memory_type(dtype_of(expr.access.value)), i,
                  expr.access.value, base_text(expr.access)));
    }
    for (std::size_t i = 0; i < kernel_.stores.size(); ++i) {
      const ir::Access& access = kernel_.stores[i].access;
      line(format("{}* __restrict__ t{} = v{} + {};", memory_type(dtype_of(access.value)), i, access.value,
                  base_text(access)));
    }
  }

  // Row buffers are not used: what a later sweep reads is computed again from what lies in cache. Running sums are the
  // exception that recomputing handles as well, since one thread walks the row.
  void emit_sweep(std::int32_t sweep) {
    const std::set<std::int32_t> needed = needed_by(sweep, false);
    for (const std::int32_t id : needed) {
      if (varies(id) || is_reduction(expr_at(id).op) || expr_at(id).sweep < sweep) continue;
      define(id, "0");
    }
    for (const std::int32_t id : needed) {
      const Expr& expr = expr_at(id);
      if (!is_reduction(expr.op) || expr.sweep != sweep) continue;
      line(format("{} acc{} = {};", variable_type(expr.dtype), id,
                  expr.op == ExprOp::reduce_sum ? "0" : "-" + infinity(expr.dtype != DType::f64)));
    }
    open_loop(needed);
    body(sweep, needed);
    line("}");
    finish_reductions(sweep, needed);
    for (std::size_t i = 0; i < kernel_.stores.size(); ++i) {
      const ir::Store& store = kernel_.stores[i];
      if (!store.once_a_row || store_sweep(store) != sweep) continue;
      const std::string who = mapping_ == CudaMapping::block_a_row ? "if (threadIdx.x == 0) "
                              : mapping_ == CudaMapping::elements  ? "if (j == 0) "
                                                                   : "";
      line(format("{}t{}[0] = {};", who, i, stored(store, name(store.expr))));
    }
  }

  void open_loop(const std::set<std::int32_t>& needed) {
    if (mapping_ == CudaMapping::elements) return line("{");
    if (mapping_ == CudaMapping::block_a_row) return line("for (i64 j = threadIdx.x; j < n; j += blockDim.x) {");
    std::string sums;
    for (const std::int32_t id : needed) {
      if (expr_at(id).op == ExprOp::cumulative_sum)
        sums += format("{} run{} = 0; ", variable_type(expr_at(id).dtype), id);
    }
    line("{ " + sums);  // closed by finish_reductions
    line("for (i64 j = 0; j < n; ++j) {");
  }

  void define(std::int32_t id, const std::string& along) {
    line(format("const {} e{} = {};", variable_type(expr_at(id).dtype), id, rounded(id, value_text(id, along))));
  }

  void body(std::int32_t sweep, const std::set<std::int32_t>& needed) {
    for (const std::int32_t id : needed) {
      const Expr& expr = expr_at(id);
      if (is_reduction(expr.op)) {
        if (expr.sweep != sweep) continue;
        const std::string value = name(expr.arguments[0]);
        line(expr.op == ExprOp::reduce_sum ? format("acc{} += {};", id, value)
                                           : format("acc{} = m_max(acc{}, {});", id, id, value));
      } else if (varies(id)) {
        define(id, "j");
      }
    }
    for (std::size_t i = 0; i < kernel_.stores.size(); ++i) {
      const ir::Store& store = kernel_.stores[i];
      if (store.once_a_row || store_sweep(store) != sweep) continue;
      line(format("t{}[{}] = {};", i, position(store.access, "j"), stored(store, name(store.expr))));
    }
  }

  void finish_reductions(std::int32_t sweep, const std::set<std::int32_t>& needed) {
    if (mapping_ == CudaMapping::thread_a_row) line("}");
    for (const std::int32_t id : needed) {
      const Expr& expr = expr_at(id);
      if (!is_reduction(expr.op) || expr.sweep != sweep) continue;
      const std::string type = variable_type(expr.dtype);
      const std::string total =
          mapping_ == CudaMapping::block_a_row
              ? format("{}(acc{}, ({}*)shared)", expr.op == ExprOp::reduce_sum ? "block_sum" : "block_max", id, type)
              : format("acc{}", id);
      line(format("const {} e{} = {};", type, id, rounded(id, total)));
    }
  }

  CudaMapping mapping_;
};

}  // namespace

CudaMapping mapping(const KernelSpec& kernel) {
  CudaMapping result = CudaMapping::elements;
  for (const Expr& expr : kernel.exprs) {
    if (expr.op == ExprOp::cumulative_sum) return CudaMapping::thread_a_row;
    if (is_reduction(expr.op)) result = CudaMapping::block_a_row;
  }
  return result;
}

std::string emit_cuda(std::span<const KernelSpec> kernels, const std::vector<ir::Value>& values) {
  std::string source(cuda_prelude());
  std::set<std::string> written;
  for (const KernelSpec& kernel : kernels) {
    if (written.insert(kernel.name).second) source += CudaEmitter(kernel, values).emit();
  }
  return source;
}

}  // namespace lathe::codegen
