#include "core/base/format.h"
#include "core/compile/ir/text.h"

namespace lathe::ir {

namespace {

class Verifier {
 public:
  explicit Verifier(const Graph& graph) : graph_(graph), defined_(graph.values.size(), false) {}

  std::optional<std::string> problem() {
    define(graph_.inputs, "input");
    define(graph_.parameters, "parameter");
    define(graph_.constants, "constant");
    define(graph_.tangents, "tangent");
    symbols();
    nodes();
    read_all(graph_.outputs, "output");
    read_all(graph_.input_gradients, "input gradient");
    read_all(graph_.parameter_gradients, "parameter gradient");
    lists();
    return problem_;
  }

 private:
  template <class... A>
  void note(std::string_view pattern, A&&... arguments) {
    if (!problem_) problem_ = format(pattern, std::forward<A>(arguments)...);
  }

  bool exists(ValueId id) const { return id >= 0 && static_cast<std::size_t>(id) < graph_.values.size(); }

  void define_one(ValueId id, std::string_view what) {
    if (!exists(id)) return note("{} names value %{}, which does not exist", what, id);
    if (defined_[static_cast<std::size_t>(id)]) return note("%{} is defined twice", id);
    defined_[static_cast<std::size_t>(id)] = true;
    const Value& value = graph_.values[static_cast<std::size_t>(id)];
    if (value.sizes.size() != value.strides.size())
      note("%{} has {} sizes and {} strides", id, value.sizes.size(), value.strides.size());
    for (const Size& size : value.sizes) check(size, id);
    for (const Size& stride : value.strides) check(stride, id);
  }

  void define(const std::vector<ValueId>& ids, std::string_view what) {
    for (const ValueId id : ids) define_one(id, what);
  }

  void check(const Size& size, ValueId id) {
    for (const Size::Term& term : size.terms()) {
      for (const SymbolId symbol : term.factors) {
        if (static_cast<std::size_t>(symbol) >= graph_.symbols.size())
          note("%{} uses the unknown symbol s{}", id, symbol);
      }
    }
  }

  void symbols() {
    for (std::size_t i = 0; i < graph_.symbols.size(); ++i) {
      const Symbol& symbol = graph_.symbols[i];
      if (!exists(symbol.value)) {
        note("symbol s{} is of value %{}, which does not exist", i, symbol.value);
      } else if (symbol.dim < 0 || static_cast<std::size_t>(symbol.dim) >=
                                       graph_.values[static_cast<std::size_t>(symbol.value)].sizes.size()) {
        note("symbol s{} is dimension {} of %{}, which has fewer", i, symbol.dim, symbol.value);
      }
    }
  }

  void read(ValueId id, std::string_view what) {
    if (id < 0) return;
    if (!exists(id)) return note("{} reads value %{}, which does not exist", what, id);
    if (!defined_[static_cast<std::size_t>(id)]) note("{} reads %{} before it is defined", what, id);
  }

  void read_all(const std::vector<ValueId>& ids, std::string_view what) {
    for (const ValueId id : ids) read(id, what);
  }

  void nodes() {
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      const Node& node = graph_.nodes[i];
      const std::string what = format("node {} ({})", i, node.op);
      for (const Operand& operand : node.operands) {
        if (operand.kind == Operand::Kind::tensor && operand.values.size() != 1)
          note("{} has a tensor operand of {} values", what, operand.values.size());
        read_all(operand.values, what);
      }
      for (const ValueId id : node.results) {
        if (id < 0) continue;
        define_one(id, what);
        if (exists(id) && graph_.values[static_cast<std::size_t>(id)].origin != Origin::node)
          note("%{} is not marked as a node's result", id);
      }
      if (node.draw >= graph_.draw_count) note("{} uses draw {} of {}", what, node.draw, graph_.draw_count);
    }
    forward_reads_no_backward();
  }

  // What only gradients need must not be needed by the forward, else the partition would have no forward to run.
  void forward_reads_no_backward() {
    std::vector<bool> of_backward(graph_.values.size(), false);
    for (const ValueId id : graph_.tangents) {
      if (exists(id)) of_backward[static_cast<std::size_t>(id)] = true;
    }
    for (const Node& node : graph_.nodes) {
      for (const Operand& operand : node.operands) {
        for (const ValueId id : operand.values) {
          if (exists(id) && of_backward[static_cast<std::size_t>(id)] && !node.backward)
            note("the forward node {} reads %{} of the backward", node.op, id);
        }
      }
      for (const ValueId id : node.results) {
        if (exists(id) && node.backward) of_backward[static_cast<std::size_t>(id)] = true;
      }
    }
    for (const ValueId id : graph_.outputs) {
      if (exists(id) && of_backward[static_cast<std::size_t>(id)]) note("the output %{} is of the backward", id);
    }
  }

  void lists() {
    if (!graph_.input_gradients.empty() && graph_.input_gradients.size() != graph_.inputs.size())
      note("{} input gradients for {} inputs", graph_.input_gradients.size(), graph_.inputs.size());
    if (!graph_.parameter_gradients.empty() && graph_.parameter_gradients.size() != graph_.parameters.size()) {
      note("{} parameter gradients for {} parameters", graph_.parameter_gradients.size(), graph_.parameters.size());
    }
    for (const WriteBack& write : graph_.write_backs) {
      read(write.target, "a write-back");
      read(write.value, "a write-back");
    }
  }

  const Graph& graph_;
  std::vector<bool> defined_;
  std::optional<std::string> problem_;
};

}  // namespace

std::optional<std::string> why_invalid(const Graph& graph) {
  return Verifier(graph).problem();
}

}  // namespace lathe::ir
