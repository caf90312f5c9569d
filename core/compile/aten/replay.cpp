#include "core/compile/aten/replay.h"

#include <algorithm>

#include <ATen/ATen.h>
#include <ATen/ScalarOps.h>

#include "core/base/error.h"
#include "core/base/format.h"
#include "core/compile/ir/ops.h"

namespace lathe::aten {

namespace {

std::optional<double> number(const c10::IValue& value) {
  if (value.isBool()) return value.toBool() ? 1.0 : 0.0;
  if (value.isInt()) return static_cast<double>(value.toInt());
  if (value.isDouble()) return value.toDouble();
  return std::nullopt;
}

at::Tensor wrapped_number(const ir::Node& node) {
  const ir::Attribute& value = node.operands.at(0).attribute;
  if (const auto* real = std::get_if<double>(&value)) return at::native::wrapped_scalar_tensor(*real);
  if (const auto* truth = std::get_if<bool>(&value)) return at::native::wrapped_scalar_tensor(*truth);
  if (const auto* integer = std::get_if<ir::Size>(&value); integer != nullptr && integer->constant())
    return at::native::wrapped_scalar_tensor(*integer->constant());
  throw Error(ErrorKind::internal, format("{} needs a number", kWrappedNumber));
}

// Strides of dimensions of size 1 say nothing, nor do any of an empty tensor.
bool same_strides(at::IntArrayRef sizes, at::IntArrayRef a, at::IntArrayRef b) {
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == 0) return true;
  }
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] != 1 && a[i] != b[i]) return false;
  }
  return true;
}

at::Tensor copy_with_strides(const at::Tensor& tensor, at::IntArrayRef strides) {
  return at::empty_strided(tensor.sizes(), strides, tensor.options()).copy_(tensor);
}

}  // namespace

SymbolValues symbol_values(const ir::Graph& graph, std::span<const at::Tensor> values) {
  SymbolValues result;
  for (const ir::Symbol& symbol : graph.symbols) {
    const bool late = symbol.from == ir::Symbol::From::data;
    result.values.push_back(late ? 0 : values[static_cast<std::size_t>(symbol.value)].size(symbol.dim));
    result.late.push_back(late);
  }
  return result;
}

Call::Call(const ir::Graph& graph, const ir::Node& node, const SymbolValues& symbols)
    : op_(node.op), is_read_(node.read.has_value()) {
  for (const ir::ValueId id : node.results) {
    Result result{.id = id};
    if (id >= 0) {
      const ir::Value& value = graph.values[static_cast<std::size_t>(id)];
      result.dtype = to_aten(value.dtype);
      const auto late = [&](const ir::Size& size) { return depends_on(size, symbols.late); };
      const auto of_data = [&](const ir::Symbol& symbol) {
        return symbol.from == ir::Symbol::From::data && symbol.value == id;
      };
      result.known = std::ranges::none_of(value.sizes, late) && std::ranges::none_of(value.strides, late) &&
                     std::ranges::none_of(graph.symbols, of_data);
      if (result.known) {
        for (const ir::Size& size : value.sizes) result.sizes.push_back(size.evaluate(symbols.values));
        for (const ir::Size& stride : value.strides) result.strides.push_back(stride.evaluate(symbols.values));
      }
    }
    results_.push_back(std::move(result));
  }
  if (node.op == kWrappedNumber) {
    number_ = wrapped_number(node);
    return;
  }

  std::string_view name = node.op;
  const bool functional = name.starts_with(kFunctionalPrefix);
  if (functional) name.remove_prefix(kFunctionalPrefix.size());
  handle_ = find_operator(name);
  if (!handle_) throw Error(ErrorKind::internal, format("there is no operator '{}' in this LibTorch", node.op));
  const c10::FunctionSchema& schema = handle_->schema();
  if (schema.arguments().size() != node.operands.size()) {
    throw Error(ErrorKind::internal, format("'{}' has {} operands, its schema {}", node.op, node.operands.size(),
                                            schema.arguments().size()));
  }
  if (functional) {
    written_ = written_arguments(schema);
  } else if (schema.is_mutable()) {
    throw Error(ErrorKind::internal, format("'{}' writes an operand", node.op));
  }
  for (std::size_t i = 0; i < node.operands.size(); ++i)
    arguments_.push_back(bind(node.operands[i], schema.arguments()[i], symbols));
  is_view_ = !functional && (ir::kind(node.op) == ir::OpKind::view ||
                             std::ranges::any_of(schema.returns(), [](const c10::Argument& returned) {
                               return returned.alias_info() != nullptr;
                             }));
}

Call::Argument Call::bind(const ir::Operand& operand, const c10::Argument& argument,
                          const SymbolValues& symbols) const {
  using Kind = Argument::Kind;
  const ArgumentKind wanted = kind(argument);
  const bool optional = argument.type()->kind() == c10::TypeKind::OptionalType;
  switch (operand.kind) {
    case ir::Operand::Kind::tensor:
      if (wanted != ArgumentKind::tensor) break;
      return {.kind = optional ? Kind::optional_tensor : Kind::tensor, .values = operand.values};
    case ir::Operand::Kind::tensors:
      if (wanted == ArgumentKind::tensors) return {.kind = Kind::tensors, .values = operand.values};
      if (wanted == ArgumentKind::optional_tensors) return {.kind = Kind::optional_tensors, .values = operand.values};
      break;
    case ir::Operand::Kind::attribute:
      if (wanted == ArgumentKind::tensor || wanted == ArgumentKind::tensors) break;
      if (depends_on(operand.attribute, symbols.late)) return {.kind = Kind::late, .late = operand.attribute};
      return {.kind = Kind::constant, .constant = value(operand.attribute, argument, symbols.values)};
  }
  throw Error(ErrorKind::internal,
              format("operand '{}' of '{}' does not fit its type {}", argument.name(), op_, argument.type()->str()));
}

void Call::push_arguments(std::span<at::Tensor> values, std::span<const std::int64_t> symbols,
                          torch::jit::Stack& stack) const {
  const auto tensor = [&](ir::ValueId id) { return id < 0 ? at::Tensor() : values[static_cast<std::size_t>(id)]; };
  for (std::size_t i = 0; i < arguments_.size(); ++i) {
    const Argument& argument = arguments_[i];
    switch (argument.kind) {
      case Argument::Kind::constant:
        stack.push_back(argument.constant);
        break;
      case Argument::Kind::tensor:
        stack.emplace_back(tensor(argument.values[0]));
        break;
      case Argument::Kind::optional_tensor:
        argument.values[0] < 0 ? stack.emplace_back() : stack.emplace_back(tensor(argument.values[0]));
        break;
      case Argument::Kind::tensors: {
        c10::List<at::Tensor> list;
        list.reserve(argument.values.size());
        for (const ir::ValueId id : argument.values) list.push_back(tensor(id));
        stack.emplace_back(std::move(list));
        break;
      }
      case Argument::Kind::optional_tensors: {
        c10::List<std::optional<at::Tensor>> list;
        list.reserve(argument.values.size());
        for (const ir::ValueId id : argument.values)
          list.push_back(id < 0 ? std::optional<at::Tensor>() : std::optional<at::Tensor>(tensor(id)));
        stack.emplace_back(std::move(list));
        break;
      }
      case Argument::Kind::late:
        stack.push_back(value(argument.late, handle_->schema().arguments()[i], symbols));
        break;
    }
  }
}

void Call::copy_written(torch::jit::Stack& stack, std::vector<at::Tensor>& copies) const {
  for (const std::size_t i : written_) {
    c10::IValue& argument = stack[i];
    if (argument.isTensor() && argument.toTensor().defined()) {
      copies.push_back(copy_with_strides(argument.toTensor(), argument.toTensor().strides()));
      argument = copies.back();
    } else if (argument.isTensorList()) {
      c10::List<at::Tensor> list;
      for (const at::Tensor& tensor : argument.toTensorVector()) {
        copies.push_back(copy_with_strides(tensor, tensor.strides()));
        list.push_back(copies.back());
      }
      argument = std::move(list);
    }
  }
}

at::Tensor Call::as_recorded(at::Tensor tensor, const Result& result) const {
  if (tensor.scalar_type() != result.dtype || (result.known && tensor.sizes() != at::IntArrayRef(result.sizes))) {
    throw Error(ErrorKind::internal,
                format("'{}' gave {}{}, the recording has {}{}", op_, toString(tensor.scalar_type()),
                       tensor.sizes().vec(), toString(result.dtype), result.sizes));
  }
  // A view has the strides that its base dictates; another memory would no longer be a view.
  if (!result.known || is_view_ || same_strides(tensor.sizes(), tensor.strides(), result.strides)) return tensor;
  return copy_with_strides(tensor, result.strides);
}

void Call::take_results(torch::jit::Stack& stack, std::vector<at::Tensor>&& copies,
                        std::span<at::Tensor> values) const {
  std::size_t next = 0;
  const auto take = [&](at::Tensor tensor) {
    if (next >= results_.size()) throw Error(ErrorKind::internal, format("'{}' gave more results than recorded", op_));
    const Result& result = results_[next++];
    if (result.id >= 0) values[static_cast<std::size_t>(result.id)] = as_recorded(std::move(tensor), result);
  };
  for (at::Tensor& copy : copies) take(std::move(copy));
  const auto& returns = handle_->schema().returns();
  for (std::size_t i = 0; i < returns.size(); ++i) {
    if (!written_.empty() && returns[i].alias_info() != nullptr && returns[i].alias_info()->isWrite()) continue;
    c10::IValue& returned = stack[stack.size() - returns.size() + i];
    if (returned.isTensorList()) {
      for (at::Tensor& tensor : returned.toTensorVector()) take(std::move(tensor));
    } else {
      take(returned.isTensor() ? std::move(returned).toTensor() : at::Tensor());
    }
  }
}

std::optional<double> Call::run(std::span<at::Tensor> values, std::span<const std::int64_t> symbols,
                                torch::jit::Stack& stack) const {
  if (!handle_) {
    values[static_cast<std::size_t>(results_.at(0).id)] = number_;
    return std::nullopt;
  }
  stack.clear();
  push_arguments(values, symbols, stack);
  std::vector<at::Tensor> copies;
  if (!written_.empty()) copy_written(stack, copies);
  handle_->callBoxed(stack);
  if (is_read_) return number(stack.at(0));
  take_results(stack, std::move(copies), values);
  return std::nullopt;
}

}  // namespace lathe::aten
