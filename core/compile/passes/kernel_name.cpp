#include "core/compile/passes/kernel_name.h"

#include <algorithm>
#include <bit>

#include "core/base/format.h"
#include "core/compile/ir/operands.h"

namespace lathe::passes {

namespace {

// What shapes the code, as text.
class Description {
 public:
  Description(const ir::KernelSpec& kernel, const std::vector<ir::Value>& values) : kernel_(kernel), values_(values) {
    for (const ir::Size& size : kernel.domain) add(size);
    for (const ir::Expr& expr : kernel.exprs) {
      add(static_cast<int>(expr.op));
      add(static_cast<int>(expr.dtype));
      add(expr.round ? 1 : 0);
      for (const std::int32_t argument : expr.arguments) add(argument);
      add(static_cast<std::int64_t>(std::bit_cast<std::uint64_t>(expr.number)));
      add(expr.size);
      add(expr.dim);
      if (expr.op == ir::ExprOp::load) add(expr.access);
      add(expr.sweep);
      add(expr.keep_in_row_buffer ? 1 : 0);
      text_ += '\n';
    }
    for (const ir::Store& store : kernel.stores) {
      add(store.expr);
      add(store.access);
      add(store.once_a_row ? 1 : 0);
    }
  }
  const std::string& text() const { return text_; }

 private:
  void add(std::int64_t number) {
    text_ += std::to_string(number);
    text_ += ' ';
  }
  void add(const ir::Size& size) {
    for (const ir::Size::Term& term : size.terms()) {
      add(term.numerator);
      add(term.denominator);
      for (const ir::SymbolId id : term.factors)
        add(std::find(kernel_.symbols.begin(), kernel_.symbols.end(), id) - kernel_.symbols.begin());
      text_ += '+';
    }
    text_ += ',';
  }
  void add(const ir::Access& access) {
    const auto place = [&](const std::vector<ir::ValueId>& list) {
      return std::find(list.begin(), list.end(), access.value) - list.begin();
    };
    add(place(kernel_.inputs));
    add(place(kernel_.outputs));
    add(static_cast<int>(values_[static_cast<std::size_t>(access.value)].dtype));
    for (const ir::Size& stride : access.strides) add(stride);
    add(access.offset);
  }

  const ir::KernelSpec& kernel_;
  const std::vector<ir::Value>& values_;
  std::string text_;
};

// FNV-1a.
std::uint64_t hash(const std::string& text) {
  std::uint64_t value = 14695981039346656037u;
  for (const char c : text) value = (value ^ static_cast<unsigned char>(c)) * 1099511628211u;
  return value;
}

}  // namespace

std::string kernel_name(const ir::KernelSpec& kernel, const std::vector<ir::Value>& values) {
  std::vector<std::string> parts = {"k"};
  for (const std::string& op : kernel.replaced) {
    std::string part(ir::plain_name(op));
    part.erase(0, part.find_first_not_of('_'));
    const bool known = std::find(parts.begin(), parts.end(), part) != parts.end();
    if (!known && parts.size() < 5) parts.push_back(part);
  }
  return join(parts, "_") + format("_{:016x}", hash(Description(kernel, values).text()));
}

}  // namespace lathe::passes
