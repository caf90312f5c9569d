#include "core/compile/capture/differs.h"

#include <algorithm>

#include "core/base/format.h"
#include "core/compile/ir/text.h"

namespace lathe::capture {

namespace {

class Comparison {
 public:
  Comparison(const ir::Graph& predicted, std::span<const std::int64_t> symbols, const ir::Graph& seen)
      : predicted_(predicted), symbols_(symbols), seen_(seen) {}

  std::optional<std::string> difference() {
    lists();
    const std::size_t common = std::min(predicted_.nodes.size(), seen_.nodes.size());
    for (std::size_t i = 0; i < common && !difference_; ++i) node(i);
    if (predicted_.nodes.size() != seen_.nodes.size())
      note("{} → {} calls", predicted_.nodes.size(), seen_.nodes.size());
    ends();
    return difference_;
  }

 private:
  template <class... A>
  void note(std::string_view pattern, A&&... arguments) {
    if (!difference_) difference_ = format(pattern, std::forward<A>(arguments)...);
  }

  ir::Size at(const ir::Size& size) const { return size.evaluate(symbols_); }
  std::vector<ir::Size> at(const std::vector<ir::Size>& sizes) const {
    std::vector<ir::Size> result;
    for (const ir::Size& size : sizes) result.push_back(at(size));
    return result;
  }
  ir::Attribute at(const ir::Attribute& attribute) const {
    if (const auto* size = std::get_if<ir::Size>(&attribute)) return at(*size);
    if (const auto* sizes = std::get_if<std::vector<ir::Size>>(&attribute)) return at(*sizes);
    return attribute;
  }

  void lists() {
    const auto count = [this](std::string_view what, std::size_t a, std::size_t b) {
      if (a != b) note("{} → {} {}", a, b, what);
    };
    count("inputs", predicted_.inputs.size(), seen_.inputs.size());
    count("parameters", predicted_.parameters.size(), seen_.parameters.size());
    count("foreign tensors", predicted_.constants.size(), seen_.constants.size());
    count("gradients of outputs", predicted_.tangents.size(), seen_.tangents.size());
  }

  void ends() {
    const auto list = [this](std::string_view what, const std::vector<ir::ValueId>& a,
                             const std::vector<ir::ValueId>& b) {
      if (a != b) note("the {} are other values", what);
    };
    list("outputs", predicted_.outputs, seen_.outputs);
    list("gradients of inputs", predicted_.input_gradients, seen_.input_gradients);
    list("gradients of parameters", predicted_.parameter_gradients, seen_.parameter_gradients);
    const auto same = [](const ir::WriteBack& a, const ir::WriteBack& b) {
      return a.target == b.target && a.value == b.value;
    };
    if (!std::ranges::equal(predicted_.write_backs, seen_.write_backs, same)) note("other tensors are written");
    const auto same_view = [this](const ir::OutputView& a, const ir::OutputView& b) {
      return a.of == b.of && a.output == b.output && a.source == b.source && at(a.sizes) == b.sizes &&
             at(a.strides) == b.strides && at(a.offset) == b.offset;
    };
    if (!std::ranges::equal(predicted_.output_views, seen_.output_views, same_view)) note("other outputs are views");
  }

  void node(std::size_t index) {
    const ir::Node& a = predicted_.nodes[index];
    const ir::Node& b = seen_.nodes[index];
    if (a.op != b.op || a.operands.size() != b.operands.size() || a.backward != b.backward)
      return note("call {}: {} → {}", index, a.op, b.op);
    if (a.results != b.results || a.draw != b.draw || a.read.has_value() != b.read.has_value())
      return note("call {} ({}): other results", index, a.op);
    if (a.read && (a.read->type != b.read->type || a.read->expected != b.read->expected))
      return note("call {} ({}): reads {} → {}", index, a.op, a.read->expected, b.read->expected);
    for (std::size_t i = 0; i < a.operands.size(); ++i) operand(index, i);
    for (const ir::ValueId id : a.results) {
      if (id >= 0 && !difference_) result(index, id);
    }
  }

  void operand(std::size_t index, std::size_t i) {
    const ir::Operand& a = predicted_.nodes[index].operands[i];
    const ir::Operand& b = seen_.nodes[index].operands[i];
    ir::Node shown_a{.op = predicted_.nodes[index].op, .operands = {a}};
    shown_a.operands[0].attribute = at(a.attribute);
    const ir::Node shown_b{.op = shown_a.op, .operands = {b}};
    if (a.kind != b.kind || a.values != b.values || shown_a.operands[0].attribute != b.attribute)
      note("call {}, operand {}: {} → {}", index, i, ir::print_call(shown_a), ir::print_call(shown_b));
  }

  void result(std::size_t index, ir::ValueId id) {
    const ir::Value& a = predicted_.values[static_cast<std::size_t>(id)];
    const ir::Value& b = seen_.values[static_cast<std::size_t>(id)];
    if (a.dtype == b.dtype && a.device == b.device && at(a.sizes) == b.sizes && at(a.strides) == b.strides) return;
    note("call {} ({}): its result has another dtype, size or stride", index, predicted_.nodes[index].op);
  }

  const ir::Graph& predicted_;
  std::span<const std::int64_t> symbols_;
  const ir::Graph& seen_;
  std::optional<std::string> difference_;
};

}  // namespace

std::optional<std::string> differs(const ir::Graph& predicted, std::span<const std::int64_t> symbols,
                                   const ir::Graph& seen) {
  return Comparison(predicted, symbols, seen).difference();
}

}  // namespace lathe::capture
