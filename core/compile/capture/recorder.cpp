#include "core/compile/capture/recorder.h"

#include <algorithm>
#include <utility>

#include <ATen/ATen.h>

#include "core/base/format.h"
#include "core/compile/aten/replay.h"
#include "core/compile/aten/schemas.h"
#include "core/compile/ir/ops.h"

namespace lathe::capture {

namespace {

std::string name_of(const c10::OperatorHandle& op) {
  return aten::op_name(op.operator_name());
}

// Calls whose values come from a random generator. Attention carries the tag at dropout 0 too.
bool draws(const c10::OperatorHandle& op, const torch::jit::Stack& stack) {
  if (!op.hasTag(at::Tag::nondeterministic_seeded)) return false;
  const auto& arguments = op.schema().arguments();
  const auto values = torch::jit::last(stack, arguments.size());
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i].name() == "dropout_p" && values[i].isDouble()) return values[i].toDouble() != 0.0;
  }
  return true;
}

// Of the first tensor, else of the argument `device`.
at::Device device_of(const c10::OperatorHandle& op, const torch::jit::Stack& stack) {
  const auto& arguments = op.schema().arguments();
  const auto values = torch::jit::last(stack, arguments.size());
  for (const c10::IValue& value : values) {
    if (value.isTensor() && value.toTensor().defined()) return value.toTensor().device();
    if (value.isDevice()) return value.toDevice();
  }
  return at::kCPU;
}

std::vector<at::Tensor> tensors_in(const c10::IValue& value) {
  std::vector<at::Tensor> tensors;
  if (value.isTensor() && value.toTensor().defined()) {
    tensors.push_back(value.toTensor());
  } else if (value.isList()) {
    for (const at::IValue& item : value.toListRef()) {
      if (item.isTensor() && item.toTensor().defined()) tensors.push_back(item.toTensor());
    }
  }
  return tensors;
}

bool is_empty_factory(std::string_view op) {
  return op.starts_with("empty") || op.starts_with("new_empty");
}

// Whether the call looks at what its operands hold, and not at their shape alone. A call that only places elements into
// a tensor (index_put_ …) may find anything in the rest of it.
bool reads_contents(const c10::OperatorHandle& op) {
  const std::string name = name_of(op);
  const ir::OpKind kind = ir::kind(name);
  if (kind == ir::OpKind::view || kind == ir::OpKind::factory) return false;
  if (!op.schema().is_mutable()) return true;
  if (op.hasTag(at::Tag::nondeterministic_seeded)) return false;
  std::string_view plain = std::string_view(name).substr(0, name.find('.'));
  if (!plain.ends_with('_')) return false;
  plain.remove_suffix(1);
  return plain != "copy" && plain != "fill" && plain != "zero" && ir::kind(plain) == ir::OpKind::pointwise;
}

struct Ancestry {
  bool given = false;  // depends on anything that may change from call to call
  bool tangent = false;
};

Ancestry ancestry(const ir::Graph& graph, std::vector<ir::ValueId> reached) {
  Ancestry result;
  std::vector<bool> seen(graph.values.size(), false);
  while (!reached.empty()) {
    const ir::ValueId id = reached.back();
    reached.pop_back();
    if (id < 0 || seen[static_cast<std::size_t>(id)]) continue;
    seen[static_cast<std::size_t>(id)] = true;
    const ir::Value& value = graph.values[static_cast<std::size_t>(id)];
    if (value.origin != ir::Origin::node) {
      result.given = true;
      result.tangent |= value.origin == ir::Origin::tangent;
      continue;
    }
    const ir::Node& node = graph.nodes[static_cast<std::size_t>(value.index)];
    result.given |= node.draw >= 0;
    for (const ir::Operand& operand : node.operands)
      reached.insert(reached.end(), operand.values.begin(), operand.values.end());
  }
  return result;
}

ir::ScalarRead scalar_read(const c10::IValue& value) {
  if (value.isBool()) return {.type = ir::ScalarRead::Type::boolean, .expected = value.toBool() ? 1.0 : 0.0};
  if (value.isInt()) return {.type = ir::ScalarRead::Type::integer, .expected = static_cast<double>(value.toInt())};
  return {.type = ir::ScalarRead::Type::real, .expected = value.isDouble() ? value.toDouble() : 0.0};
}

}  // namespace

ir::ValueId Recorder::add(const at::Tensor& tensor, ir::Origin origin, std::size_t index) {
  try {
    const ir::ValueId id = builder_.add_value(tensor, origin, index);
    aliases_.add(tensor, id);
    if (given_.size() <= static_cast<std::size_t>(id)) given_.resize(static_cast<std::size_t>(id) + 1);
    if (origin != ir::Origin::tangent) given_[static_cast<std::size_t>(id)] = tensor;
    return id;
  } catch (const Refused& reason) {
    refuse(reason.what());
    return -1;
  }
}

void Recorder::begin_backward() {
  builder_.backward = true;
}

void Recorder::refuse(std::string reason) {
  if (!refused_) refused_ = std::move(reason);
}

void Recorder::record(const c10::OperatorHandle& op, torch::jit::Stack& stack) {
  const std::lock_guard lock(mutex_);
  bool ran = false;
  if (!refused_) {
    try {
      record_call(op, stack, ran);
    } catch (const Refused& reason) {
      refuse(reason.what());
    }
  }
  if (ran) return;
  // What the run was given is put back at the end, refused or not.
  for (const std::size_t i : aten::written_arguments(op.schema())) {
    for (const at::Tensor& tensor : tensors_in(torch::jit::peek(stack, i, op.schema().arguments().size()))) {
      const std::int32_t storage = aliases_.storage_of(tensor);
      if (storage >= 0) keep_originals(storage);
    }
  }
  op.callBoxed(stack);
}

void Recorder::record_call(const c10::OperatorHandle& op, torch::jit::Stack& stack, bool& ran) {
  const auto& arguments = op.schema().arguments();
  std::vector<ir::Operand> operands;
  operands.reserve(arguments.size());
  for (std::size_t i = 0; i < arguments.size(); ++i)
    operands.push_back(operand(stack.at(stack.size() - arguments.size() + i), arguments[i]));
  const std::vector<Write> writes = writes_of(op.schema(), stack, operands);
  for (const Write& write : writes) before_write(write);
  if (reads_contents(op)) keep_raw_contents(torch::jit::last(stack, arguments.size()));

  const bool is_draw = draws(op, stack);
  const at::Device device = is_draw ? device_of(op, stack) : at::Device(at::kCPU);
  const std::int32_t draw = is_draw ? draws_.begin(device) : -1;
  std::size_t node = builder_.graph.nodes.size();
  if (!writes.empty()) {
    node = functionalize({op, operands, writes, stack, ran}, builder_, aliases_);
  } else {
    op.callBoxed(stack);
    ran = true;
    if (op.hasTag(at::Tag::data_dependent_output))
      record_read(op, stack, std::move(operands));
    else
      record_results(op, stack, std::move(operands));
  }
  if (is_draw) {
    draws_.end(device);
    builder_.graph.nodes.at(node).draw = draw;
    builder_.graph.draw_count = draws_.count();
  }
}

// Memory from `empty` that is read before any operator wrote it was filled by C++ through a pointer (at::tensor does
// so): its contents become a constant of which the graph takes a copy.
void Recorder::keep_raw_contents(at::ArrayRef<c10::IValue> arguments) {
  for (const c10::IValue& argument : arguments) {
    for (const at::Tensor& tensor : tensors_in(argument)) {
      const std::int32_t storage = aliases_.storage(lookup(tensor));
      const ir::ValueId first = aliases_.first_value(storage);
      if (aliases_.epoch(storage) != 0 || builder_.value(first).origin != ir::Origin::node || tensor.numel() == 0)
        continue;
      ir::Node& made = builder_.graph.nodes[static_cast<std::size_t>(builder_.value(first).index)];
      if (!is_empty_factory(made.op)) continue;
      const Geometry& whole = aliases_.geometry(first);
      at::Tensor contents = at::empty({0}, tensor.options().dtype(whole.dtype));
      contents = contents.set_(tensor.storage(), whole.offset, whole.sizes, whole.strides).clone();
      const ir::ValueId constant = builder_.add_value(contents, ir::Origin::constant, constants_.size());
      builder_.graph.constants.push_back(constant);
      constants_.push_back(std::move(contents));
      made.op = "clone";
      made.operands = {tensor_operand(constant), none_operand()};
    }
  }
}

ir::Operand Recorder::operand(const c10::IValue& value, const c10::Argument& argument) {
  const aten::ArgumentKind kind = aten::kind(argument);
  if (kind == aten::ArgumentKind::tensor) {
    const bool defined = value.isTensor() && value.toTensor().defined();
    return tensor_operand(defined ? lookup(value.toTensor()) : -1);
  }
  if ((kind == aten::ArgumentKind::tensors || kind == aten::ArgumentKind::optional_tensors) && value.isList()) {
    std::vector<ir::ValueId> ids;
    for (const at::IValue& item : value.toListRef()) {
      const bool defined = item.isTensor() && item.toTensor().defined();
      ids.push_back(defined ? lookup(item.toTensor()) : -1);
    }
    return tensors_operand(std::move(ids));
  }
  if (auto attribute = aten::attribute(value, argument)) return attribute_operand(std::move(*attribute));
  throw Refused(format("an argument '{}' of type {} cannot be recorded", argument.name(), argument.type()->str()));
}

ir::ValueId Recorder::value_of(const at::Tensor& tensor) {
  if (refused_ || !tensor.defined()) return -1;
  try {
    return lookup(tensor);
  } catch (const Refused& reason) {
    refuse(reason.what());
    return -1;
  }
}

ir::ValueId Recorder::lookup(const at::Tensor& tensor) {
  if (!tensor.has_storage()) throw Refused("a tensor without storage takes part");
  if (const auto known = aliases_.find(tensor)) return *known;
  return foreign(tensor);
}

ir::ValueId Recorder::foreign(const at::Tensor& tensor) {
  if (tensor.requires_grad())
    throw Refused("the block uses a tensor that needs a gradient and is neither its input nor its parameter");
  if (tensor.unsafeGetTensorImpl()->is_wrapped_number()) {
    const at::Scalar number = tensor.item();
    ir::Operand value = number.isFloatingPoint() ? attribute_operand(number.toDouble())
                        : number.isBoolean()     ? attribute_operand(number.toBool())
                                                 : integer_operand(number.toLong());
    const ir::ValueId id = builder_.add_result(tensor);
    const ir::Operand dtype = attribute_operand(builder_.value(id).dtype);
    aliases_.add(tensor, id);
    builder_.add_node(std::string(aten::kWrappedNumber), {std::move(value), dtype}, {id});
    return id;
  }
  const ir::ValueId id = builder_.add_value(tensor, ir::Origin::constant, constants_.size());
  aliases_.add(tensor, id);
  builder_.graph.constants.push_back(id);
  constants_.push_back(tensor);
  return id;
}

std::vector<Write> Recorder::writes_of(const c10::FunctionSchema& schema, const torch::jit::Stack& stack,
                                       const std::vector<ir::Operand>& operands) const {
  const auto values = torch::jit::last(stack, schema.arguments().size());
  const auto training = schema.argumentIndexWithName("training");
  if (!schema.is_mutable() && training && !values[static_cast<std::size_t>(*training)].toBool()) return {};
  std::vector<Write> writes;
  for (const std::size_t i : aten::written_arguments(schema)) {
    const auto& ids = operands[i].values;
    if (values[i].isTensor() && values[i].toTensor().defined()) {
      writes.push_back({values[i].toTensor(), ids.at(0), i});
    } else if (values[i].isTensorList()) {
      const auto tensors = values[i].toTensorVector();
      for (std::size_t k = 0; k < tensors.size(); ++k) writes.push_back({tensors[k], ids.at(k), i});
    }
  }
  return writes;
}

void Recorder::before_write(const Write& write) {
  const std::int32_t storage = aliases_.storage(write.value);
  const ir::Origin origin = builder_.value(aliases_.first_value(storage)).origin;
  if (origin == ir::Origin::node) return;
  const std::size_t sharing = keep_originals(storage);
  if (origin == ir::Origin::tangent) throw Refused("the block writes into an incoming gradient");
  if (origin == ir::Origin::constant) throw Refused("the block writes into a tensor that it was not given");
  if (builder_.backward) throw Refused("the backward writes into an input or a buffer");
  if (sharing > 1) throw Refused("the block writes into an input that shares its memory with another");
}

// Keeps what the run was given of a storage that is about to be written. Returns how many tensors that is.
std::size_t Recorder::keep_originals(std::int32_t storage) {
  std::size_t sharing = 0;
  for (std::size_t id = 0; id < given_.size(); ++id) {
    const at::Tensor& tensor = given_[id];
    if (!tensor.defined() || aliases_.storage(static_cast<ir::ValueId>(id)) != storage) continue;
    ++sharing;
    const auto is_kept = [&](const Original& original) { return original.tensor.is_same(tensor); };
    if (std::ranges::none_of(originals_, is_kept))
      originals_.push_back({tensor, tensor.clone(), static_cast<std::uint32_t>(tensor._version())});
  }
  return sharing;
}

void Recorder::restore() {
  const aten::BelowAutograd below;
  for (const Original& original : originals_) {
    original.tensor.copy_(original.contents);
    c10::VariableVersion version = original.tensor.unsafeGetTensorImpl()->version_counter();  // shares the counter
    version.set_version(original.version);
  }
  originals_.clear();
}

void Recorder::record_results(const c10::OperatorHandle& op, const torch::jit::Stack& stack,
                              std::vector<ir::Operand> operands) {
  std::vector<ir::ValueId> read;
  for (const ir::Operand& operand : operands) read.insert(read.end(), operand.values.begin(), operand.values.end());
  std::vector<ir::ValueId> results;
  const auto add_result = [&](const at::Tensor& tensor) {
    if (!tensor.defined()) return results.push_back(-1);
    const ir::ValueId id = builder_.add_result(tensor);
    aliases_.add_result(tensor, id, results.size(), read);
    results.push_back(id);
  };
  for (const c10::IValue& value : torch::jit::last(stack, op.schema().returns().size())) {
    if (value.isTensor()) {
      add_result(value.toTensor());
    } else if (value.isTensorList()) {
      for (const at::Tensor& tensor : value.toTensorVector()) add_result(tensor);
    } else {
      results.push_back(-1);
    }
  }
  const std::size_t node = builder_.add_node(name_of(op), std::move(operands), std::move(results));
  if (op.hasTag(at::Tag::dynamic_output_shape)) note_data_size(op, builder_.graph.nodes[node], node);
}

// A size that data decides. Indexing carries the tag always, but only masks have such a size.
void Recorder::note_data_size(const c10::OperatorHandle& op, const ir::Node& node, std::size_t index) {
  int dim = 0;
  if (op.operator_name().name == "aten::index") {
    const auto is_mask = [&](ir::ValueId id) {
      return id >= 0 && (builder_.value(id).dtype == ir::DType::boolean || builder_.value(id).dtype == ir::DType::u8);
    };
    const std::vector<ir::ValueId>& indices = node.operands.at(1).values;
    if (std::ranges::none_of(indices, is_mask)) return;
    dim = static_cast<int>(std::ranges::find_if(indices, [](ir::ValueId id) { return id >= 0; }) - indices.begin());
  }
  builder_.graph.breaks.push_back({static_cast<std::int32_t>(index), name_of(op)});
  const ir::ValueId result = node.results.at(0);
  if (result < 0 || builder_.value(result).sizes.empty()) return;
  builder_.graph.symbols.push_back(
      {.from = ir::Symbol::From::data,
       .value = result,
       .dim = dim,
       .hint = *builder_.value(result).sizes.at(static_cast<std::size_t>(dim)).constant()});
}

void Recorder::record_read(const c10::OperatorHandle& op, const torch::jit::Stack& stack,
                           std::vector<ir::Operand> operands) {
  std::vector<ir::ValueId> read;
  for (const ir::Operand& operand : operands) read.insert(read.end(), operand.values.begin(), operand.values.end());
  const Ancestry from = ancestry(builder_.graph, read);
  if (!from.given) return;  // the same in every call
  const ir::ScalarRead scalar = scalar_read(stack.back());
  if (scalar.type == ir::ScalarRead::Type::real) {
    throw Refused(format("a real number is read into C++ by '{}' (call {} of the block): no comparison could hold",
                         name_of(op), builder_.graph.nodes.size()));
  }
  if (from.tangent) throw Refused(format("'{}' reads a number that depends on an incoming gradient", name_of(op)));
  const std::size_t node = builder_.add_node(name_of(op), std::move(operands), {});
  builder_.graph.nodes[node].read = scalar;
  builder_.graph.breaks.push_back({static_cast<std::int32_t>(node), name_of(op)});
}

ir::Graph Recorder::take_graph() {
  return std::move(builder_.graph);
}

}  // namespace lathe::capture
