#include "core/compile/runtime/guard.h"

#include <algorithm>
#include <array>
#include <limits>
#include <set>

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <c10/core/DefaultDtype.h>
#include <c10/core/GradMode.h>

#include "core/base/format.h"
#include "core/compile/ir/operands.h"
#include "core/compile/ir/ops.h"

namespace lathe::runtime {

namespace {

constexpr std::int64_t kAny = std::numeric_limits<std::int64_t>::min();  // where any size, stride or offset serves

// A tensor's kind in one word: dtype, device, need of a gradient, rank; -1 for an undefined one.
std::int64_t kind_of(const at::Tensor& tensor) {
  if (!tensor.defined()) return -1;
  const at::Device device = tensor.device();
  return static_cast<std::int64_t>(tensor.scalar_type()) | static_cast<std::int64_t>(device.type()) << 8 |
         static_cast<std::int64_t>(device.index() + 1) << 16 |
         static_cast<std::int64_t>(tensor.requires_grad() ? 1 : 0) << 24 | tensor.dim() << 32;
}
std::int64_t dtype_in(std::int64_t kind) {
  return kind & 0xff;
}
std::int64_t device_in(std::int64_t kind) {
  return kind & 0xffff00;
}
std::int64_t gradient_in(std::int64_t kind) {
  return kind & 0x1000000;
}
std::int64_t rank_in(std::int64_t kind) {
  return kind >> 32;
}

// For each tensor the first of the list that shares its storage, times two, plus one where it is the same tensor. An
// undefined one has memory of its own.
class MemoryPattern {
 public:
  explicit MemoryPattern(std::size_t count) {
    std::size_t slots = 64;
    while (slots < 2 * count) slots *= 2;
    if (slots_.size() < slots) slots_.assign(slots, {});
    mask_ = slots_.size() - 1;
    ++run_;
  }

  std::int64_t next(const at::Tensor& tensor) {
    const auto index = static_cast<std::int64_t>(next_++);
    if (!tensor.defined() || !tensor.has_storage()) return 2 * index + 1;
    const void* const storage = tensor.storage().unsafeGetStorageImpl();
    std::size_t slot = (reinterpret_cast<std::uintptr_t>(storage) >> 4) & mask_;
    for (; slots_[slot].run == run_; slot = (slot + 1) & mask_) {
      if (slots_[slot].storage == storage)
        return 2 * slots_[slot].index + (slots_[slot].tensor == tensor.unsafeGetTensorImpl() ? 1 : 0);
    }
    slots_[slot] = {run_, storage, tensor.unsafeGetTensorImpl(), index};
    return 2 * index + 1;
  }

 private:
  struct Slot {
    std::uint64_t run = 0;  // entries of earlier runs count as empty
    const void* storage = nullptr;
    const void* tensor = nullptr;
    std::int64_t index = 0;
  };
  static thread_local std::vector<Slot> slots_;
  static thread_local std::uint64_t run_;
  std::size_t mask_ = 0, next_ = 0;
};
thread_local std::vector<MemoryPattern::Slot> MemoryPattern::slots_;
thread_local std::uint64_t MemoryPattern::run_ = 0;

// Values whose place in their storage the graph's as_strided nodes count from.
std::set<ir::ValueId> placed_values(const ir::Graph& graph) {
  std::vector<ir::ValueId> shown(graph.values.size());
  for (std::size_t i = 0; i < shown.size(); ++i) shown[i] = static_cast<ir::ValueId>(i);
  std::set<ir::ValueId> placed;
  for (const ir::Node& node : graph.nodes) {
    if (ir::kind(node.op) != ir::OpKind::view) continue;
    const ir::ValueId operand = ir::tensor_at(node, 0);
    if (operand < 0) continue;
    const ir::ValueId root = shown[static_cast<std::size_t>(operand)];
    if (ir::plain_name(node.op) == "as_strided") placed.insert(root);
    for (const ir::ValueId id : node.results) {
      if (id >= 0) shown[static_cast<std::size_t>(id)] = root;
    }
  }
  return placed;
}

std::string autocast_text(const aten::AutocastMode& mode) {
  std::string text;
  if (mode.cpu) text += format("cpu {}", toString(mode.cpu_dtype));
  if (mode.cuda) text += format("{}cuda {}", text.empty() ? "" : ", ", toString(mode.cuda_dtype));
  return text.empty() ? "off" : text;
}

constexpr TextId kStructure = LATHE_TEXT("compile.guard.structure", "the block's structure: {} → {}");
constexpr TextId kCount = LATHE_TEXT("compile.guard.count", "number of tensors: {} → {}");
constexpr TextId kConstant =
    LATHE_TEXT("compile.guard.constant", "tensor {} that the block holds itself was written since");
constexpr TextId kGradMode = LATHE_TEXT("compile.guard.gradients", "gradients recorded: {} → {}");
constexpr TextId kAutocast = LATHE_TEXT("compile.guard.autocast", "autocast: {} → {}");
constexpr TextId kDefaultDtype = LATHE_TEXT("compile.guard.default_dtype", "default dtype: {} → {}");
constexpr TextId kMatmul = LATHE_TEXT("compile.guard.matmul_precision", "precision of matrix products: {} → {}");
constexpr TextId kSwitches =
    LATHE_TEXT("compile.guard.switches", "deterministic, cuDNN or attention settings: {} → {}");

// Input, parameter.
using Pair = std::array<TextId, 2>;
constexpr Pair kPresence = {LATHE_TEXT("compile.guard.input.presence", "input {}: given: {} → {}"),
                            LATHE_TEXT("compile.guard.parameter.presence", "parameter {}: given: {} → {}")};
constexpr Pair kDtype = {LATHE_TEXT("compile.guard.input.dtype", "input {}: dtype {} → {}"),
                         LATHE_TEXT("compile.guard.parameter.dtype", "parameter {}: dtype {} → {}")};
constexpr Pair kDevice = {LATHE_TEXT("compile.guard.input.device", "input {}: device {} → {}"),
                          LATHE_TEXT("compile.guard.parameter.device", "parameter {}: device {} → {}")};
constexpr Pair kGradient = {LATHE_TEXT("compile.guard.input.gradient", "input {}: needs a gradient: {} → {}"),
                            LATHE_TEXT("compile.guard.parameter.gradient", "parameter {}: needs a gradient: {} → {}")};
constexpr Pair kRank = {LATHE_TEXT("compile.guard.input.rank", "input {}: number of dimensions {} → {}"),
                        LATHE_TEXT("compile.guard.parameter.rank", "parameter {}: number of dimensions {} → {}")};
constexpr Pair kSize = {LATHE_TEXT("compile.guard.input.size", "input {}: size of dimension {}: {} → {}"),
                        LATHE_TEXT("compile.guard.parameter.size", "parameter {}: size of dimension {}: {} → {}")};
constexpr Pair kStride = {
    LATHE_TEXT("compile.guard.input.stride", "input {}: stride of dimension {}: {} → {}"),
    LATHE_TEXT("compile.guard.parameter.stride", "parameter {}: stride of dimension {}: {} → {}")};
constexpr Pair kMemory = {
    LATHE_TEXT("compile.guard.input.memory", "input {}: shares memory with another tensor than before"),
    LATHE_TEXT("compile.guard.parameter.memory", "parameter {}: shares memory with another tensor than before")};
constexpr Pair kOffset = {LATHE_TEXT("compile.guard.input.offset", "input {}: place in its memory {} → {}"),
                          LATHE_TEXT("compile.guard.parameter.offset", "parameter {}: place in its memory {} → {}")};

std::string yes_no(bool yes) {
  return yes ? "yes" : "no";
}

std::string device_text(std::int64_t kind) {
  const auto type = static_cast<at::DeviceType>((kind >> 8) & 0xff);
  const auto index = static_cast<c10::DeviceIndex>(((kind >> 16) & 0xff) - 1);
  return at::Device(type, index).str();
}

std::string dtype_text(std::int64_t kind) {
  return toString(static_cast<at::ScalarType>(dtype_in(kind)));
}

Message environment_text(const Environment& before, const Environment& now) {
  if (before.gradients != now.gradients) return message(kGradMode, yes_no(before.gradients), yes_no(now.gradients));
  if (before.autocast != now.autocast)
    return message(kAutocast, autocast_text(before.autocast), autocast_text(now.autocast));
  if (before.default_dtype != now.default_dtype)
    return message(kDefaultDtype, toString(before.default_dtype), toString(now.default_dtype));
  if (before.matmul_precision != now.matmul_precision)
    return message(kMatmul, before.matmul_precision, now.matmul_precision);
  return message(kSwitches, before.switches, now.switches);
}

}  // namespace

Environment Environment::now() {
  using at::Float32Backend;
  using at::Float32Op;
  const at::Context& context = at::globalContext();
  Environment result;
  result.gradients = c10::GradMode::is_enabled();
  result.autocast = aten::AutocastMode::now();
  result.default_dtype = c10::get_default_dtype_as_scalartype();
  const auto precision = [&](Float32Backend backend, Float32Op op, int place) {
    result.matmul_precision |= static_cast<std::uint32_t>(context.float32Precision(backend, op)) << (4 * place);
  };
  precision(Float32Backend::CUDA, Float32Op::MATMUL, 0);
  precision(Float32Backend::CUDA, Float32Op::CONV, 1);
  precision(Float32Backend::MKLDNN, Float32Op::MATMUL, 2);
  const std::array switches = {context.deterministicAlgorithms(),    context.userEnabledCuDNN(),
                               context.userEnabledMkldnn(),          context.userEnabledFlashSDP(),
                               context.userEnabledMemEfficientSDP(), context.userEnabledMathSDP(),
                               context.userEnabledCuDNNSDP(),        context.allowFP16BF16ReductionMathSDP(),
                               context.allowFP16ReductionCPU()};
  for (std::size_t i = 0; i < switches.size(); ++i) result.switches |= (switches[i] ? 1U : 0U) << i;
  result.switches |= static_cast<std::uint32_t>(context.allowFP16ReductionCuBLAS()) << 16;
  result.switches |= static_cast<std::uint32_t>(context.allowBF16ReductionCuBLAS()) << 20;
  return result;
}

Guard::Guard(const aten::BlockGraph& block, std::string structure, std::span<const at::Tensor> inputs,
             std::span<const at::Tensor> parameters)
    : structure_(std::move(structure)),
      environment_(Environment::now()),
      input_count_(inputs.size()),
      constants_(block.constants) {
  const ir::Graph& graph = block.graph;
  const std::set<ir::ValueId> placed = placed_values(graph);
  MemoryPattern memory(inputs.size() + parameters.size());
  const auto add = [&](std::span<const at::Tensor> tensors, const std::vector<std::int32_t>& places,
                       const std::vector<ir::ValueId>& values) {
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      const auto place = std::ranges::find(places, static_cast<std::int32_t>(i));
      const ir::ValueId id = place == places.end() ? -1 : values[static_cast<std::size_t>(place - places.begin())];
      add_tensor(tensors[i], memory.next(tensors[i]), id < 0 ? nullptr : &graph.values[static_cast<std::size_t>(id)]);
      if (placed.contains(id)) tensors_.back().offset = tensors[i].storage_offset();
    }
  };
  add(inputs, block.inputs, graph.inputs);
  add(parameters, block.parameters, graph.parameters);
  for (const ir::Symbol& symbol : graph.symbols) {
    if (symbol.from != ir::Symbol::From::input_dim) {
      symbols_.push_back({.tensor = SIZE_MAX});
      continue;
    }
    const ir::Value& value = graph.values[static_cast<std::size_t>(symbol.value)];
    const auto& places = value.origin == ir::Origin::input ? block.inputs : block.parameters;
    const auto tensor = static_cast<std::size_t>(places[static_cast<std::size_t>(value.index)]);
    symbols_.push_back({value.origin == ir::Origin::input ? tensor : input_count_ + tensor,
                        static_cast<std::size_t>(symbol.dim), symbol.min, symbol.max, symbol.multiple_of});
  }
  for (const at::Tensor& constant : constants_) constant_versions_.push_back(constant._version());
}

void Guard::add_tensor(const at::Tensor& tensor, std::int64_t memory, const ir::Value* value) {
  tensors_.push_back({.kind = kind_of(tensor), .memory = memory, .offset = kAny, .numbers = numbers_.size()});
  if (!tensor.defined()) return;
  const auto rank = static_cast<std::size_t>(tensor.dim());
  const auto number = [&](std::size_t dim, bool is_stride, std::int64_t seen) {
    const ir::Size* const symbolic = value == nullptr ? nullptr : &(is_stride ? value->strides : value->sizes).at(dim);
    const bool is_known = symbolic == nullptr || symbolic->is_constant();
    if (!is_known) evaluated_.push_back({tensors_.size() - 1, dim, is_stride, *symbolic});
    numbers_.push_back(is_known ? seen : kAny);
  };
  for (std::size_t dim = 0; dim < rank; ++dim) number(dim, false, tensor.sizes()[dim]);
  for (std::size_t dim = 0; dim < rank; ++dim) {
    if (tensor.numel() == 0 || tensor.sizes()[dim] == 1)
      numbers_.push_back(kAny);
    else
      number(dim, true, tensor.strides()[dim]);
  }
}

std::optional<Guard::Fault> Guard::tensor_fault(const at::Tensor& tensor, std::size_t index,
                                                std::int64_t memory) const {
  const TensorFacts& facts = tensors_[index];
  const std::int64_t kind = kind_of(tensor);
  if (kind != facts.kind) {
    const Fact fact = kind < 0 || facts.kind < 0                     ? Fact::presence
                      : dtype_in(kind) != dtype_in(facts.kind)       ? Fact::dtype
                      : device_in(kind) != device_in(facts.kind)     ? Fact::device
                      : gradient_in(kind) != gradient_in(facts.kind) ? Fact::gradient
                                                                     : Fact::rank;
    return Fault{fact, index, 0, facts.kind, kind};
  }
  if (kind < 0) return std::nullopt;
  const auto rank = static_cast<std::size_t>(rank_in(kind));
  const std::int64_t* const numbers = numbers_.data() + facts.numbers;
  const at::IntArrayRef sizes = tensor.sizes(), strides = tensor.strides();
  for (std::size_t i = 0; i < rank; ++i) {
    if (sizes[i] != numbers[i] && numbers[i] != kAny) return Fault{Fact::size, index, i, numbers[i], sizes[i]};
    if (strides[i] != numbers[rank + i] && numbers[rank + i] != kAny)
      return Fault{Fact::stride, index, i, numbers[rank + i], strides[i]};
  }
  if (memory != facts.memory) return Fault{Fact::memory, index, 0, facts.memory, memory};
  if (facts.offset != kAny && tensor.storage_offset() != facts.offset)
    return Fault{Fact::offset, index, 0, facts.offset, tensor.storage_offset()};
  return std::nullopt;
}

std::optional<Guard::Fault> Guard::symbol_fault(std::span<const at::Tensor> inputs,
                                                std::span<const at::Tensor> parameters) const {
  const auto tensor = [&](std::size_t index) -> const at::Tensor& {
    return index < input_count_ ? inputs[index] : parameters[index - input_count_];
  };
  std::vector<std::int64_t> values;
  for (const SymbolSource& symbol : symbols_) {
    values.push_back(symbol.tensor == SIZE_MAX ? 0 : tensor(symbol.tensor).sizes()[symbol.dim]);
    if (symbol.tensor == SIZE_MAX) continue;
    const std::int64_t value = values.back();
    if (value < symbol.min || value > symbol.max || value % symbol.multiple_of != 0) {
      const std::int64_t nearest = std::clamp(value, symbol.min, symbol.max);
      return Fault{Fact::size, symbol.tensor, symbol.dim, nearest - nearest % symbol.multiple_of, value};
    }
  }
  for (const Evaluated& item : evaluated_) {
    const at::Tensor& own = tensor(item.tensor);
    const std::int64_t seen = item.is_stride ? own.strides()[item.dim] : own.sizes()[item.dim];
    const std::int64_t expected = item.value.evaluate(values);
    if (seen != expected && !(item.is_stride && own.sizes()[item.dim] == 1))
      return Fault{item.is_stride ? Fact::stride : Fact::size, item.tensor, item.dim, expected, seen};
  }
  return std::nullopt;
}

std::optional<Guard::Fault> Guard::fault(std::string_view structure, std::span<const at::Tensor> inputs,
                                         std::span<const at::Tensor> parameters) const {
  if (structure != structure_) return Fault{Fact::structure};
  if (inputs.size() != input_count_ || inputs.size() + parameters.size() != tensors_.size()) {
    return Fault{Fact::count, 0, 0, static_cast<std::int64_t>(tensors_.size()),
                 static_cast<std::int64_t>(inputs.size() + parameters.size())};
  }
  if (Environment::now() != environment_) return Fault{Fact::environment};
  MemoryPattern memory(tensors_.size());
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    const at::Tensor& tensor = i < input_count_ ? inputs[i] : parameters[i - input_count_];
    if (const auto found = tensor_fault(tensor, i, memory.next(tensor))) return found;
  }
  if (!symbols_.empty()) {
    if (const auto found = symbol_fault(inputs, parameters)) return found;
  }
  for (std::size_t i = 0; i < constants_.size(); ++i) {
    if (constants_[i]._version() != constant_versions_[i]) return Fault{Fact::constant, i};
  }
  return std::nullopt;
}

bool Guard::holds(std::string_view structure, std::span<const at::Tensor> inputs,
                  std::span<const at::Tensor> parameters) const {
  return !fault(structure, inputs, parameters);
}

std::optional<Message> Guard::why_not(std::string_view structure, std::span<const at::Tensor> inputs,
                                      std::span<const at::Tensor> parameters) const {
  const auto found = fault(structure, inputs, parameters);
  if (!found) return std::nullopt;
  return text(*found, structure);
}

Message Guard::text(const Fault& fault, std::string_view structure) const {
  const bool is_parameter = fault.tensor >= input_count_;
  const auto index = static_cast<std::uint64_t>(is_parameter ? fault.tensor - input_count_ : fault.tensor);
  const auto of = [&](const Pair& pair) { return pair[is_parameter ? 1 : 0]; };
  switch (fault.fact) {
    case Fact::structure:
      return message(kStructure, structure_, structure);
    case Fact::environment:
      return environment_text(environment_, Environment::now());
    case Fact::count:
      return message(kCount, fault.before, fault.now);
    case Fact::presence:
      return message(of(kPresence), index, yes_no(fault.before >= 0), yes_no(fault.now >= 0));
    case Fact::dtype:
      return message(of(kDtype), index, dtype_text(fault.before), dtype_text(fault.now));
    case Fact::device:
      return message(of(kDevice), index, device_text(fault.before), device_text(fault.now));
    case Fact::gradient:
      return message(of(kGradient), index, yes_no(gradient_in(fault.before) != 0), yes_no(gradient_in(fault.now) != 0));
    case Fact::rank:
      return message(of(kRank), index, rank_in(fault.before), rank_in(fault.now));
    case Fact::size:
      return message(of(kSize), index, fault.dim, fault.before, fault.now);
    case Fact::stride:
      return message(of(kStride), index, fault.dim, fault.before, fault.now);
    case Fact::memory:
      return message(of(kMemory), index);
    case Fact::offset:
      return message(of(kOffset), index, fault.before, fault.now);
    case Fact::constant:
      return message(kConstant, static_cast<std::uint64_t>(fault.tensor));
  }
  return message(kStructure, structure_, structure);
}

}  // namespace lathe::runtime
