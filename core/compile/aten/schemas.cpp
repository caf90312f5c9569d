#include "core/compile/aten/schemas.h"

#include <algorithm>
#include <mutex>
#include <unordered_map>

#include <ATen/core/jit_type.h>

#include "core/base/error.h"
#include "core/base/format.h"

namespace lathe::aten {

std::optional<ir::DType> to_ir(at::ScalarType dtype) {
  switch (dtype) {
    case at::kDouble:
      return ir::DType::f64;
    case at::kFloat:
      return ir::DType::f32;
    case at::kHalf:
      return ir::DType::f16;
    case at::kBFloat16:
      return ir::DType::bf16;
    case at::kLong:
      return ir::DType::i64;
    case at::kInt:
      return ir::DType::i32;
    case at::kShort:
      return ir::DType::i16;
    case at::kChar:
      return ir::DType::i8;
    case at::kByte:
      return ir::DType::u8;
    case at::kBool:
      return ir::DType::boolean;
    default:
      return std::nullopt;
  }
}

at::ScalarType to_aten(ir::DType dtype) {
  switch (dtype) {
    case ir::DType::f64:
      return at::kDouble;
    case ir::DType::f32:
      return at::kFloat;
    case ir::DType::f16:
      return at::kHalf;
    case ir::DType::bf16:
      return at::kBFloat16;
    case ir::DType::i64:
      return at::kLong;
    case ir::DType::i32:
      return at::kInt;
    case ir::DType::i16:
      return at::kShort;
    case ir::DType::i8:
      return at::kChar;
    case ir::DType::u8:
      return at::kByte;
    case ir::DType::boolean:
      return at::kBool;
  }
  return at::kFloat;
}

std::optional<ir::Device> to_ir(at::Device device) {
  if (device.is_cpu()) return ir::Device{};
  if (device.is_cuda()) return ir::Device{ir::Device::Type::cuda, device.has_index() ? device.index() : 0};
  return std::nullopt;
}

at::Device to_aten(const ir::Device& device) {
  if (device.type == ir::Device::Type::cpu) return at::kCPU;
  return {at::kCUDA, static_cast<c10::DeviceIndex>(device.index)};
}

std::string op_name(const c10::OperatorName& name) {
  constexpr std::string_view own = "aten::";
  std::string text = name.name.starts_with(own) ? name.name.substr(own.size()) : name.name;
  if (!name.overload_name.empty()) text += "." + name.overload_name;
  return text;
}

std::optional<c10::OperatorHandle> find_operator(std::string_view op) {
  static std::mutex mutex;
  static std::unordered_map<std::string, c10::OperatorHandle> known;  // guarded by mutex

  const std::lock_guard lock(mutex);
  const std::string key(op);
  if (const auto found = known.find(key); found != known.end()) return found->second;
  const std::size_t colons = op.rfind("::");
  const std::size_t dot = op.find('.', colons == std::string_view::npos ? 0 : colons);
  std::string name(op.substr(0, dot));
  if (colons == std::string_view::npos) name = "aten::" + name;
  const std::string overload(dot == std::string_view::npos ? "" : op.substr(dot + 1));
  const auto handle = c10::Dispatcher::singleton().findSchema({name, overload});
  if (handle) known.emplace(key, *handle);
  return handle;
}

namespace {

// The type without its optional, the real one where the schema says ScalarType but carries an integer.
c10::TypePtr plain_type(const c10::Argument& argument) {
  c10::TypePtr type = argument.real_type();
  if (type->kind() == c10::TypeKind::OptionalType) type = type->castRaw<c10::OptionalType>()->getElementType();
  return type;
}

std::optional<ir::Attribute> list_attribute(const c10::IValue& value) {
  if (value.isIntList() || value.isSymIntList()) {
    std::vector<ir::Size> sizes;
    for (const std::int64_t item : value.toIntVector()) sizes.emplace_back(item);
    return sizes;
  }
  if (value.isDoubleList()) return value.toDoubleVector();
  if (value.isBoolList()) {
    const auto list = value.toBoolList();
    return std::vector<bool>(list.begin(), list.end());
  }
  // Scalar[]: reals only, else a list could not be told from one of integers on the way back.
  std::vector<double> reals;
  for (const c10::IValue& item : value.toListRef()) {
    if (!item.isDouble()) return std::nullopt;
    reals.push_back(item.toDouble());
  }
  return reals;
}

[[noreturn]] void does_not_fit(const c10::Argument& argument) {
  throw Error(ErrorKind::internal, format("the attribute of argument '{}' does not fit its type {}", argument.name(),
                                          argument.type()->str()));
}

c10::IValue list_value(const std::vector<double>& reals, const c10::Argument& argument) {
  const c10::TypePtr type = plain_type(argument);
  if (type->kind() != c10::TypeKind::ListType) does_not_fit(argument);
  if (type->castRaw<c10::ListType>()->getElementType()->kind() != c10::TypeKind::NumberType) return c10::IValue(reals);
  c10::impl::GenericList list(c10::NumberType::get());
  for (const double real : reals) list.push_back(c10::IValue(real));
  return list;
}

struct ToValue {
  const c10::Argument& argument;
  std::span<const std::int64_t> symbols;

  c10::IValue operator()(std::monostate) const { return {}; }
  c10::IValue operator()(bool item) const { return item; }
  c10::IValue operator()(const ir::Size& item) const { return item.evaluate(symbols); }
  c10::IValue operator()(double item) const { return item; }
  c10::IValue operator()(const std::string& item) const { return item; }
  c10::IValue operator()(ir::DType item) const { return static_cast<std::int64_t>(to_aten(item)); }
  c10::IValue operator()(const ir::Device& item) const { return to_aten(item); }
  c10::IValue operator()(const std::vector<ir::Size>& items) const {
    std::vector<std::int64_t> integers;
    integers.reserve(items.size());
    for (const ir::Size& item : items) integers.push_back(item.evaluate(symbols));
    return c10::IValue(std::move(integers));
  }
  c10::IValue operator()(const std::vector<double>& items) const { return list_value(items, argument); }
  c10::IValue operator()(const std::vector<bool>& items) const {
    c10::List<bool> list;
    for (const bool item : items) list.push_back(item);
    return list;
  }
};

}  // namespace

ArgumentKind kind(const c10::Argument& argument) {
  const c10::TypePtr type = plain_type(argument);
  switch (type->kind()) {
    case c10::TypeKind::TensorType:
      return ArgumentKind::tensor;
    case c10::TypeKind::ScalarTypeType:
      return ArgumentKind::dtype;
    case c10::TypeKind::DeviceObjType:
      return ArgumentKind::device;
    case c10::TypeKind::ListType: {
      const c10::TypePtr element = type->castRaw<c10::ListType>()->getElementType();
      if (element->kind() == c10::TypeKind::TensorType) return ArgumentKind::tensors;
      if (element->kind() == c10::TypeKind::OptionalType &&
          element->castRaw<c10::OptionalType>()->getElementType()->kind() == c10::TypeKind::TensorType)
        return ArgumentKind::optional_tensors;
      return ArgumentKind::other;
    }
    default:
      return ArgumentKind::other;
  }
}

std::vector<std::size_t> written_arguments(const c10::FunctionSchema& schema) {
  const bool hidden = schema.name() == "aten::native_batch_norm" || schema.name() == "aten::cudnn_batch_norm" ||
                      schema.name() == "aten::miopen_batch_norm";
  std::vector<std::size_t> written;
  for (std::size_t i = 0; i < schema.arguments().size(); ++i) {
    const c10::Argument& argument = schema.arguments()[i];
    const bool declared = argument.alias_info() != nullptr && argument.alias_info()->isWrite();
    if (declared || (hidden && (argument.name() == "running_mean" || argument.name() == "running_var")))
      written.push_back(i);
  }
  return written;
}

std::optional<ir::Attribute> attribute(const c10::IValue& value, const c10::Argument& argument) {
  if (value.isNone()) return std::monostate();
  if (value.isBool()) return value.toBool();
  if (value.isInt() || value.isSymInt()) {
    if (kind(argument) != ArgumentKind::dtype) return ir::Size(value.toInt());
    if (const auto dtype = to_ir(value.toScalarType())) return *dtype;
    return std::nullopt;
  }
  if (value.isDouble()) return value.toDouble();
  if (value.isString()) return value.toStringRef();
  if (value.isDevice()) {
    if (const auto device = to_ir(value.toDevice())) return *device;
    return std::nullopt;
  }
  if (value.isList()) return list_attribute(value);
  return std::nullopt;
}

c10::IValue value(const ir::Attribute& attribute, const c10::Argument& argument,
                  std::span<const std::int64_t> symbols) {
  return std::visit(ToValue{argument, symbols}, attribute);
}

bool depends_on(const ir::Size& size, const std::vector<bool>& symbols) {
  return std::ranges::any_of(size.terms(), [&](const ir::Size::Term& term) {
    return std::ranges::any_of(term.factors, [&](ir::SymbolId id) { return symbols[static_cast<std::size_t>(id)]; });
  });
}

bool depends_on(const ir::Attribute& attribute, const std::vector<bool>& symbols) {
  if (const auto* size = std::get_if<ir::Size>(&attribute)) return depends_on(*size, symbols);
  if (const auto* sizes = std::get_if<std::vector<ir::Size>>(&attribute)) {
    return std::ranges::any_of(*sizes, [&](const ir::Size& size) { return depends_on(size, symbols); });
  }
  return false;
}

}  // namespace lathe::aten
