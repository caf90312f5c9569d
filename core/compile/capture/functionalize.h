#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

#include "core/compile/capture/aliases.h"
#include "core/compile/capture/graph_builder.h"

namespace lathe::capture {

// A tensor that a call writes.
struct Write {
  at::Tensor tensor;
  ir::ValueId value = -1;    // what it held
  std::size_t argument = 0;  // of the schema; for lists: of which it is an element
};

// A call that writes, with its operands looked up and its arguments still on the stack.
struct WritingCall {
  const c10::OperatorHandle& op;
  const std::vector<ir::Operand>& operands;
  const std::vector<Write>& writes;
  torch::jit::Stack& stack;
  bool& ran;  // set once the call took effect; its results are then on the stack
};

// Runs the call and appends functional nodes for it. Where ATen has a functional operator of the same meaning ("add"
// for "add_"), that one runs and its result is copied to the target, so that the graph has the dtypes and strides that
// a replay will meet; other calls become `lathe::functional::NAME`. Returns the node that does what the call did,
// before casts and views. Refused where memory changes hands: resize_, set_.
std::size_t functionalize(const WritingCall& call, GraphBuilder& builder, Aliases& aliases);

}  // namespace lathe::capture
