#include <array>
#include <charconv>
#include <cmath>

#include "core/base/format.h"
#include "core/compile/ir/text.h"

namespace lathe::ir {

namespace {

std::string real_text(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  std::array<char, 64> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
  std::string text(digits.data(), end);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

template <class T, class F>
std::string list(const std::vector<T>& items, F&& one) {
  std::vector<std::string> parts;
  for (const auto& item : items) parts.push_back(one(item));
  return join(parts, ", ");
}

std::string sizes_text(const std::vector<Size>& sizes) {
  return "[" + list(sizes, [](const Size& size) { return print(size); }) + "]";
}

std::string device_text(const Device& device) {
  return device.type == Device::Type::cpu ? "@cpu" : "@cuda:" + std::to_string(device.index);
}

std::string value_name(ValueId id) {
  return id < 0 ? "_" : "%" + std::to_string(id);
}

std::string ids_text(const std::vector<ValueId>& ids) {
  return list(ids, value_name);
}

std::string typed(const Graph& graph, ValueId id) {
  if (id < 0) return "_";
  const Value& value = graph.values[static_cast<std::size_t>(id)];
  std::string text = value_name(id) + ": " + std::string(name(value.dtype)) + sizes_text(value.sizes) + " strides " +
                     sizes_text(value.strides);
  if (!(value.device == Device{})) text += " " + device_text(value.device);
  return text;
}

struct AttributeText {
  std::string operator()(std::monostate) const { return "none"; }
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(const Size& value) const { return print(value); }
  std::string operator()(double value) const { return real_text(value); }
  std::string operator()(const std::string& value) const { return quoted(value); }
  std::string operator()(DType value) const { return ":" + std::string(name(value)); }
  std::string operator()(const Device& value) const { return device_text(value); }
  std::string operator()(const std::vector<Size>& value) const { return sizes_text(value); }
  std::string operator()(const std::vector<double>& value) const { return "r[" + list(value, real_text) + "]"; }
  std::string operator()(const std::vector<bool>& value) const {
    std::vector<std::string> parts;
    for (const bool item : value) parts.push_back(item ? "true" : "false");
    return "b[" + join(parts, ", ") + "]";
  }
};

std::string operand_text(const Operand& operand) {
  switch (operand.kind) {
    case Operand::Kind::tensor:
      return value_name(operand.values.at(0));
    case Operand::Kind::tensors:
      return "{" + ids_text(operand.values) + "}";
    case Operand::Kind::attribute:
      return std::visit(AttributeText(), operand.attribute);
  }
  return "none";
}

std::string_view name(ScalarRead::Type type) {
  switch (type) {
    case ScalarRead::Type::boolean:
      return "boolean";
    case ScalarRead::Type::integer:
      return "integer";
    case ScalarRead::Type::real:
      return "real";
  }
  return "real";
}

std::string_view name(OutputView::Of of) {
  switch (of) {
    case OutputView::Of::input:
      return "input";
    case OutputView::Of::parameter:
      return "parameter";
    case OutputView::Of::output:
      return "output";
  }
  return "input";
}

std::string node_text(const Graph& graph, const Node& node) {
  std::string text = list(node.results, [&](ValueId id) { return typed(graph, id); });
  text += text.empty() ? "= " : " = ";
  if (node.backward) text += "backward ";
  text += print_call(node);
  if (node.draw >= 0) text += " draw " + std::to_string(node.draw);
  if (node.read) text += format(" read {} {}", name(node.read->type), real_text(node.read->expected));
  return text;
}

std::string symbol_text(const Symbol& symbol, std::size_t index) {
  const bool of_input = symbol.from == Symbol::From::input_dim;
  std::string text = format("symbol s{}: {} {} dim {} hint {} min {}", index, of_input ? "input_dim" : "data",
                            value_name(symbol.value), symbol.dim, symbol.hint, symbol.min);
  if (symbol.max != INT64_MAX) text += format(" max {}", symbol.max);
  if (symbol.multiple_of != 1) text += format(" multiple_of {}", symbol.multiple_of);
  return text;
}

}  // namespace

std::string print_call(const Node& node) {
  return node.op + "(" + list(node.operands, operand_text) + ")";
}

std::string print(const Graph& graph) {
  std::string text;
  const auto line = [&text](const std::string& content) { text += content + "\n"; };
  for (std::size_t i = 0; i < graph.symbols.size(); ++i) line(symbol_text(graph.symbols[i], i));
  for (const ValueId id : graph.inputs) line("input " + typed(graph, id));
  for (const ValueId id : graph.parameters) line("parameter " + typed(graph, id));
  for (const ValueId id : graph.constants) line("constant " + typed(graph, id));
  for (const ValueId id : graph.tangents) line("tangent " + typed(graph, id));
  for (const Node& node : graph.nodes) line(node_text(graph, node));
  for (const ValueId id : graph.outputs) line("output " + value_name(id));
  for (const ValueId id : graph.input_gradients) line("input_gradient " + value_name(id));
  for (const ValueId id : graph.parameter_gradients) line("parameter_gradient " + value_name(id));
  for (const OutputView& view : graph.output_views) {
    line(format("output_view {} of {} {} sizes {} strides {} offset {}", view.output, name(view.of), view.source,
                sizes_text(view.sizes), sizes_text(view.strides), print(view.offset)));
  }
  for (const WriteBack& write : graph.write_backs)
    line(format("write_back {} from {}", value_name(write.target), value_name(write.value)));
  for (const Break& at : graph.breaks) line(format("break {} {}", at.node, at.op));
  return text;
}

}  // namespace lathe::ir
