#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

#include "core/compile/capture/aliases.h"
#include "core/compile/capture/functionalize.h"
#include "core/compile/capture/graph_builder.h"
#include "core/compile/capture/random.h"

namespace lathe::capture {

// Turns the ATen calls of a run into a functional graph. Calls may come from several threads (autograd has its own).
// Once it refuses, calls run as they are and are no longer recorded.
class Recorder {
 public:
  explicit Recorder(const RandomKeeper& random) : draws_(random.states()) {}

  // A tensor that the run is given: its value in the graph.
  ir::ValueId add(const at::Tensor& tensor, ir::Origin origin, std::size_t index);
  // What comes from now on reaches gradients only.
  void begin_backward();

  // Runs the call and records it.
  void record(const c10::OperatorHandle& op, torch::jit::Stack& stack);

  // The value that a tensor holds now; -1 where it is undefined or the recorder has refused. A foreign tensor becomes a
  // constant.
  ir::ValueId value_of(const at::Tensor& tensor);
  const std::optional<std::string>& refused() const { return refused_; }
  void refuse(std::string reason);
  const Aliases& aliases() const { return aliases_; }
  // Puts back what was written into tensors that the run was given, contents and versions.
  void restore();

  ir::Graph take_graph();
  std::vector<at::Tensor> take_constants() { return std::move(constants_); }

 private:
  struct Original {  // of memory that the run writes
    at::Tensor tensor, contents;
    std::uint32_t version = 0;
  };

  void record_call(const c10::OperatorHandle& op, torch::jit::Stack& stack, bool& ran);
  ir::Operand operand(const c10::IValue& value, const c10::Argument& argument);
  ir::ValueId lookup(const at::Tensor& tensor);
  ir::ValueId foreign(const at::Tensor& tensor);
  std::vector<Write> writes_of(const c10::FunctionSchema& schema, const torch::jit::Stack& stack,
                               const std::vector<ir::Operand>& operands) const;
  void before_write(const Write& write);
  std::size_t keep_originals(std::int32_t storage);
  void keep_raw_contents(at::ArrayRef<c10::IValue> arguments);
  void record_results(const c10::OperatorHandle& op, const torch::jit::Stack& stack, std::vector<ir::Operand> operands);
  void record_read(const c10::OperatorHandle& op, const torch::jit::Stack& stack, std::vector<ir::Operand> operands);
  void note_data_size(const c10::OperatorHandle& op, const ir::Node& node, std::size_t index);

  GraphBuilder builder_;
  Aliases aliases_{builder_};
  Draws draws_;
  std::vector<at::Tensor> given_;  // inputs and parameters, by value
  std::vector<at::Tensor> constants_;
  std::vector<Original> originals_;
  std::optional<std::string> refused_;
  std::mutex mutex_;  // held while a call runs: what it writes must not be read meanwhile
};

}  // namespace lathe::capture
