#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <ATen/core/Tensor.h>

#include "core/base/message.h"
#include "core/compile/aten/autocast.h"
#include "core/compile/aten/block_graph.h"

namespace lathe::runtime {

// Settings of this thread and process that decide which kernels ATen takes or which dtypes it gives.
struct Environment {
  bool gradients = true;
  aten::AutocastMode autocast;
  at::ScalarType default_dtype = at::kFloat;
  std::uint32_t matmul_precision = 0;  // of fp32 products and convolutions, on cards and in oneDNN
  std::uint32_t switches = 0;          // deterministic, cuDNN, attention backends, reduced-precision reductions
  bool operator==(const Environment&) const = default;

  static Environment now();
};

// What must hold for an artifact to serve a call: dtype, device, sizes, strides (those of dimensions of 1 say nothing),
// which tensors share memory, the need of a gradient of every input and parameter; foreign tensors that have not been
// written; the environment; the structure. Sizes with symbols are evaluated: any that fits serves. Tensor hooks are no
// part: autograd calls those of parameters and inputs outside the block's node as it does without compiling.
class Guard {
 public:
  // Of a block recorded with these tensors in this environment.
  Guard(const aten::BlockGraph& block, std::string structure, std::span<const at::Tensor> inputs,
        std::span<const at::Tensor> parameters);

  // About a microsecond for 45 tensors.
  bool holds(std::string_view structure, std::span<const at::Tensor> inputs,
             std::span<const at::Tensor> parameters) const;
  // The first thing that is another, old → new.
  std::optional<Message> why_not(std::string_view structure, std::span<const at::Tensor> inputs,
                                 std::span<const at::Tensor> parameters) const;

 private:
  enum class Fact : std::uint8_t {
    structure,
    environment,
    count,
    presence,
    dtype,
    device,
    gradient,
    rank,
    size,
    stride,
    memory,
    offset,
    constant
  };
  struct Fault {
    Fact fact = Fact::structure;
    std::size_t tensor = 0, dim = 0;  // tensor: of inputs, then parameters
    std::int64_t before = 0, now = 0;
  };
  struct TensorFacts {
    std::int64_t kind = 0;    // presence, dtype, device, need of a gradient, rank
    std::int64_t memory = 0;  // the first tensor of the same memory, and whether it is that very tensor
    std::int64_t offset = 0;  // kAny but where the graph counts from the beginning of the memory
    std::size_t numbers = 0;  // where its sizes, then strides, stand
  };
  struct Evaluated {  // a size or stride that depends on symbols
    std::size_t tensor = 0, dim = 0;
    bool is_stride = false;
    ir::Size value;
  };
  struct SymbolSource {
    std::size_t tensor = 0, dim = 0;
    std::int64_t min = 0, max = 0, multiple_of = 1;
  };

  std::optional<Fault> fault(std::string_view structure, std::span<const at::Tensor> inputs,
                             std::span<const at::Tensor> parameters) const;
  std::optional<Fault> tensor_fault(const at::Tensor& tensor, std::size_t index, std::int64_t memory) const;
  std::optional<Fault> symbol_fault(std::span<const at::Tensor> inputs, std::span<const at::Tensor> parameters) const;
  void add_tensor(const at::Tensor& tensor, std::int64_t memory, const ir::Value* value);
  Message text(const Fault& fault, std::string_view structure) const;

  std::string structure_;
  Environment environment_;
  std::size_t input_count_ = 0;
  std::vector<TensorFacts> tensors_;
  std::vector<std::int64_t> numbers_;
  std::vector<SymbolSource> symbols_;
  std::vector<Evaluated> evaluated_;
  std::vector<at::Tensor> constants_;
  std::vector<std::int64_t> constant_versions_;
};

}  // namespace lathe::runtime
