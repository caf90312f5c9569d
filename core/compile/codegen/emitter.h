#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/compile/ir/kernel_spec.h"

namespace lathe::codegen {

bool is_reduction(ir::ExprOp op);
bool is_half(ir::DType dtype);

// What the CPU's and the card's kernels share: the text of expressions, addresses and types, and which expressions a
// sweep needs. A derived emitter writes the loops and names the functions of its prelude.
class Emitter {
 public:
  Emitter(const ir::KernelSpec& kernel, const std::vector<ir::Value>& values);
  virtual ~Emitter() = default;

 protected:
  // A function of the C library in the precision of the expression: sqrt → "sqrtf(x)".
  virtual std::string library(const ir::Expr& expr, std::string_view function, const std::string& arguments) const = 0;
  // exp, expm1, tanh, erf, sigmoid of f32 as the prelude has them; the library's for f64.
  virtual std::string own(const ir::Expr& expr, std::string_view function, const std::string& argument) const = 0;
  virtual std::string infinity(bool single) const = 0;
  virtual std::string not_a_number(bool single) const = 0;
  // The text of a symbol's value.
  virtual std::string symbol(std::size_t position) const = 0;

  void line(const std::string& text) { text_ += text + "\n"; }

  const ir::Expr& expr_at(std::int32_t id) const { return kernel_.exprs[static_cast<std::size_t>(id)]; }
  ir::DType dtype_of(ir::ValueId id) const { return values_.at(static_cast<std::size_t>(id)).dtype; }
  bool varies(std::int32_t id) const { return varying_[static_cast<std::size_t>(id)]; }  // along the row

  static std::string memory_type(ir::DType dtype);    // of an element in memory
  static std::string variable_type(ir::DType dtype);  // of a variable that holds one
  static std::string name(std::int32_t id) { return "e" + std::to_string(id); }
  std::string size_text(const ir::Size& size) const;
  std::string base_text(const ir::Access& access) const;  // offset of the row's first element
  std::string position(const ir::Access& access, const std::string& along) const;

  // Expressions that a sweep computes or reads, ascending, so that arguments come first. `buffers`: row buffers are
  // used, so that what they keep need not be computed again.
  std::set<std::int32_t> needed_by(std::int32_t sweep, bool buffers) const;
  // A reduction is known when its sweep has ended, so it is stored after that sweep.
  std::int32_t store_sweep(const ir::Store& store) const { return expr_at(store.expr).sweep; }
  bool known_before(std::int32_t id, std::int32_t sweep, bool buffers) const;

  std::string value_text(std::int32_t id, const std::string& along) const;  // not of reductions
  std::string rounded(std::int32_t id, const std::string& value) const;
  std::string stored(const ir::Store& store, const std::string& value) const;

  const ir::KernelSpec& kernel_;
  const std::vector<ir::Value>& values_;
  int row_;  // the last dimension
  std::string text_;

 private:
  void find_varying();
  void need(std::int32_t id, std::int32_t sweep, bool buffers, std::set<std::int32_t>& needed) const;
  std::string number(double value, ir::DType dtype) const;
  std::string loaded(std::int32_t id, const std::string& along) const;
  std::string unary(const ir::Expr& expr, const std::string& a) const;
  std::string binary(const ir::Expr& expr, const std::string& a, const std::string& b) const;

  std::vector<bool> varying_;
};

}  // namespace lathe::codegen
