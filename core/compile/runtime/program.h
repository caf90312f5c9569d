#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "core/compile/aten/replay.h"
#include "core/compile/ir/program.h"

namespace lathe::runtime {

// Place of a value or node in a vector.
inline std::size_t slot(std::int32_t index) {
  return static_cast<std::size_t>(index);
}

// What one call of a block works on, first in its forward, then in its backward.
struct Frame {
  std::vector<at::Tensor> values;     // by ir::ValueId
  std::vector<std::int64_t> symbols;  // of ir::Graph::symbols; those of data once their node ran
  std::vector<at::Tensor> draws;      // the generator's state before a draw that comes a second time
};

// The run took another path than the recording: a number read into C++ or a size that data decides is another.
struct Mismatch {
  std::int32_t node = 0;
  std::string text;  // old → new
};

// A fused kernel. `values` by ir::ValueId: it reads its inputs and makes its outputs there.
class Kernel {
 public:
  virtual ~Kernel() = default;
  virtual void run(std::span<at::Tensor> values, std::span<const std::int64_t> symbols) const = 0;
};

// One direction of a partitioned graph. Several threads may run it at a time.
class Program {
 public:
  // `kernels` as program.kernels lists them. `repeated_draws`: which draws come a second time, here or in the backward.
  // The graph must live as long. Error(internal) where a node does not fit its operator.
  Program(const ir::Graph& graph, ir::Program program, std::vector<std::unique_ptr<Kernel>> kernels,
          std::vector<bool> repeated_draws);

  // Runs all steps below autograd. After a mismatch `frame` holds nothing of worth.
  std::optional<Mismatch> run(Frame& frame) const;
  const ir::Program& program() const { return program_; }

 private:
  using Calls = std::vector<std::optional<aten::Call>>;  // by step
  std::shared_ptr<const Calls> bound(const aten::SymbolValues& symbols) const;
  std::shared_ptr<const Calls> calls(const std::vector<std::int64_t>& symbols) const;
  std::optional<Mismatch> after(std::int32_t node, std::optional<double> read, Frame& frame) const;
  std::optional<double> draw(const aten::Call& call, const ir::Node& node, Frame& frame,
                             torch::jit::Stack& stack) const;

  struct DataSize {
    std::size_t symbol = 0;
    std::int32_t node = 0;
  };

  const ir::Graph& graph_;
  ir::Program program_;
  std::vector<std::unique_ptr<Kernel>> kernels_;
  std::vector<bool> repeated_draws_, is_data_;
  std::vector<DataSize> data_sizes_;
  bool has_input_symbols_ = false;
  std::shared_ptr<const Calls> only_calls_;  // where no size comes with the inputs
  mutable std::mutex mutex_;
  mutable std::map<std::vector<std::int64_t>, std::shared_ptr<const Calls>> calls_;  // by symbols; guarded by mutex_
};

}  // namespace lathe::runtime
