#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/function_schema.h>
#include <ATen/core/ivalue.h>

#include "core/compile/ir/graph.h"

// ATen's types and schemas against those of the graph.
namespace lathe::aten {

// Nothing for dtypes that a graph cannot hold (complex, quantized, 8-bit floats …).
std::optional<ir::DType> to_ir(at::ScalarType dtype);
at::ScalarType to_aten(ir::DType dtype);
// Nothing for devices other than CPU and CUDA.
std::optional<ir::Device> to_ir(at::Device device);
at::Device to_aten(const ir::Device& device);

// "aten::add" with overload "Tensor" → "add.Tensor"; operators of other namespaces keep theirs.
std::string op_name(const c10::OperatorName& name);
// The operator that a node names, or nothing. Remembered: the second look-up of a name costs a hash.
std::optional<c10::OperatorHandle> find_operator(std::string_view op);

// What a schema's argument takes, as far as the graph tells them apart.
enum class ArgumentKind : std::uint8_t { tensor, tensors, optional_tensors, dtype, device, other };
ArgumentKind kind(const c10::Argument& argument);

// Arguments whose tensors the call writes: those that the schema says, and the running statistics of batch norms, which
// schemas keep quiet about (`native_batch_norm` while training).
std::vector<std::size_t> written_arguments(const c10::FunctionSchema& schema);

// An argument without tensors as an attribute. Nothing where the graph cannot hold it: complex numbers, generators,
// streams, names of dimensions.
std::optional<ir::Attribute> attribute(const c10::IValue& value, const c10::Argument& argument);
// The way back, sizes evaluated with `symbols`. Error(internal) where the attribute does not fit the argument.
c10::IValue value(const ir::Attribute& attribute, const c10::Argument& argument, std::span<const std::int64_t> symbols);
// Whether the value depends on one of the marked symbols.
bool depends_on(const ir::Attribute& attribute, const std::vector<bool>& symbols);
bool depends_on(const ir::Size& size, const std::vector<bool>& symbols);

}  // namespace lathe::aten
