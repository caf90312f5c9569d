#include "core/compile/ir/operands.h"

#include <utility>

namespace lathe::ir {

namespace {
const Attribute* attribute_at(const Node& node, std::size_t position) {
  if (position >= node.operands.size()) return nullptr;
  const Operand& operand = node.operands[position];
  return operand.kind == Operand::Kind::attribute ? &operand.attribute : nullptr;
}

template <class T>
const T* held(const Node& node, std::size_t position) {
  const Attribute* attribute = attribute_at(node, position);
  return attribute == nullptr ? nullptr : std::get_if<T>(attribute);
}
}  // namespace

ValueId tensor_at(const Node& node, std::size_t position) {
  if (position >= node.operands.size()) return -1;
  const Operand& operand = node.operands[position];
  return operand.kind == Operand::Kind::tensor && !operand.values.empty() ? operand.values[0] : -1;
}

std::optional<double> number_at(const Node& node, std::size_t position) {
  if (const auto* real = held<double>(node, position)) return *real;
  if (const auto* flag = held<bool>(node, position)) return *flag ? 1.0 : 0.0;
  if (const auto whole = integer_at(node, position)) return static_cast<double>(*whole);
  return std::nullopt;
}

std::optional<Size> size_at(const Node& node, std::size_t position) {
  const auto* size = held<Size>(node, position);
  return size == nullptr ? std::nullopt : std::optional(*size);
}

std::optional<std::int64_t> integer_at(const Node& node, std::size_t position) {
  const auto* size = held<Size>(node, position);
  return size == nullptr ? std::nullopt : size->constant();
}

bool flag_at(const Node& node, std::size_t position, bool otherwise) {
  const auto* flag = held<bool>(node, position);
  return flag == nullptr ? otherwise : *flag;
}

std::string text_at(const Node& node, std::size_t position) {
  const auto* text = held<std::string>(node, position);
  return text == nullptr ? std::string() : *text;
}

std::optional<std::vector<Size>> sizes_at(const Node& node, std::size_t position) {
  if (const auto* list = held<std::vector<Size>>(node, position)) return *list;
  if (const auto* size = held<Size>(node, position)) return std::vector<Size>{*size};
  return std::nullopt;
}

std::optional<std::vector<std::int64_t>> integers_at(const Node& node, std::size_t position) {
  const auto sizes = sizes_at(node, position);
  if (!sizes) return std::nullopt;
  std::vector<std::int64_t> numbers;
  for (const Size& size : *sizes) {
    const auto number = size.constant();
    if (!number) return std::nullopt;
    numbers.push_back(*number);
  }
  return numbers;
}

Operand tensor_operand(ValueId id) {
  Operand operand;
  operand.kind = Operand::Kind::tensor;
  operand.values = {id};
  return operand;
}

Operand attribute_operand(Attribute attribute) {
  Operand operand;
  operand.attribute = std::move(attribute);
  return operand;
}

std::string_view local_name(std::string_view op) {
  constexpr std::string_view kAten = "aten::";
  if (op.starts_with(kAten)) op.remove_prefix(kAten.size());
  return op;
}

std::string_view plain_name(std::string_view op) {
  const std::string_view name = local_name(op);
  return name.substr(0, name.find('.'));
}

}  // namespace lathe::ir
