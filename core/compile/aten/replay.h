#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/stack.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include "core/compile/aten/schemas.h"
#include "core/compile/ir/graph.h"

// Running nodes of a graph by boxed ATen calls.
namespace lathe::aten {

// Operators of ours that a recording may hold beside ATen's:
// `lathe::functional::NAME` calls ATen's writing operator NAME on copies of what it writes. Results: the copies, in
// the order of its arguments, then those returned values that are no written argument.
constexpr std::string_view kFunctionalPrefix = "lathe::functional::";
// `lathe::wrapped_number(value, dtype)`: a number of C++ that ATen turned into a tensor; it does not take part in type
// promotion.
constexpr std::string_view kWrappedNumber = "lathe::wrapped_number";

// While it lives, ATen calls on this thread run below autograd, view tracking and autocast: a graph holds what those
// would add.
class BelowAutograd {
  at::AutoDispatchBelowADInplaceOrView autograd_;
  c10::impl::ExcludeDispatchKeyGuard autocast_{c10::autocast_dispatch_keyset};
};

// Values of a graph's symbols; those of data symbols are known only while the graph runs.
struct SymbolValues {
  std::vector<std::int64_t> values;
  std::vector<bool> late;  // of data
};
// Sizes of `graph`'s symbols, those of data still zero.
SymbolValues symbol_values(const ir::Graph& graph, std::span<const at::Tensor> values);

// One node bound to its operator, its sizes evaluated.
class Call {
 public:
  // Error(internal) where there is no such operator or the operands do not fit it. `graph` is not kept.
  Call(const ir::Graph& graph, const ir::Node& node, const SymbolValues& symbols);

  // Takes operands from `values` and puts results there, both by ir::ValueId. Results have the strides of the graph:
  // where ATen chose others they are copied. `stack` is scratch. Returns the number that a reading node reads.
  // Error(internal) where a result's size or dtype is not the graph's. To be called within BelowAutograd.
  std::optional<double> run(std::span<at::Tensor> values, std::span<const std::int64_t> symbols,
                            torch::jit::Stack& stack) const;

 private:
  struct Argument {
    enum class Kind : std::uint8_t { constant, tensor, optional_tensor, tensors, optional_tensors, late } kind;
    c10::IValue constant;
    std::vector<ir::ValueId> values;
    ir::Attribute late;
  };
  struct Result {
    ir::ValueId id = -1;
    at::ScalarType dtype = at::kFloat;
    bool known = true;  // sizes and strides are; else they depend on data
    std::vector<std::int64_t> sizes, strides;
  };

  Argument bind(const ir::Operand& operand, const c10::Argument& argument, const SymbolValues& symbols) const;
  void push_arguments(std::span<at::Tensor> values, std::span<const std::int64_t> symbols,
                      torch::jit::Stack& stack) const;
  void copy_written(torch::jit::Stack& stack, std::vector<at::Tensor>& copies) const;
  void take_results(torch::jit::Stack& stack, std::vector<at::Tensor>&& copies, std::span<at::Tensor> values) const;
  at::Tensor as_recorded(at::Tensor tensor, const Result& result) const;

  std::string op_;
  std::optional<c10::OperatorHandle> handle_;  // none for kWrappedNumber
  std::vector<Argument> arguments_;
  std::vector<std::size_t> written_;  // of kFunctionalPrefix
  std::vector<Result> results_;
  at::Tensor number_;
  bool is_view_ = false;
  bool is_read_ = false;
};

}  // namespace lathe::aten
