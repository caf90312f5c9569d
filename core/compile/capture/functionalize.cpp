#include "core/compile/capture/functionalize.h"

#include <array>
#include <string_view>
#include <utility>

#include <ATen/ATen.h>

#include "core/base/format.h"
#include "core/compile/aten/replay.h"
#include "core/compile/aten/schemas.h"
#include "core/compile/ir/ops.h"

namespace lathe::capture {

namespace {

struct Recorded {
  at::Tensor tensor;
  ir::ValueId value = -1;
};

// Runs a functional operator and records it. It has one result.
Recorded run(GraphBuilder& builder, const std::string& op, torch::jit::Stack arguments,
             std::vector<ir::Operand> operands) {
  aten::find_operator(op)->callBoxed(arguments);
  at::Tensor tensor = std::move(arguments.at(0)).toTensor();
  const ir::ValueId value = builder.add_result(tensor);
  builder.add_node(op, std::move(operands), {value});
  return {std::move(tensor), value};
}

Recorded cast(GraphBuilder& builder, Recorded from, const at::Tensor& like) {
  const bool moves = from.tensor.device() != like.device();
  if (from.tensor.scalar_type() == like.scalar_type() && !moves) return from;
  const auto dtype = aten::to_ir(like.scalar_type());
  const auto device = aten::to_ir(like.device());
  torch::jit::Stack arguments = {
      from.tensor,  static_cast<std::int64_t>(like.scalar_type()), c10::IValue(), c10::IValue(), c10::IValue(), false,
      c10::IValue()};
  std::vector<ir::Operand> operands(7, none_operand());
  operands[0] = tensor_operand(from.value);
  operands[1] = attribute_operand(dtype.value());
  operands[5] = attribute_operand(false);
  if (moves) {
    arguments[3] = like.device();
    operands[3] = attribute_operand(device.value());
  }
  return run(builder, "_to_copy", std::move(arguments), std::move(operands));
}

// "aten::add_" → "add": the operator that gives what this one writes. By name, but for two that have other names.
std::string twin_name(const c10::OperatorHandle& op) {
  const std::string name = aten::op_name(op.operator_name());
  if (name == "bernoulli_.float") return "bernoulli.p";
  if (name == "normal_") return "normal_functional";
  const std::size_t dot = name.find('.');
  std::string plain = name.substr(0, dot);
  if (!plain.ends_with('_')) return "";
  plain.pop_back();
  return dot == std::string::npos ? plain : plain + name.substr(dot);
}

std::optional<c10::OperatorHandle> twin_of(const WritingCall& call, const std::string& name) {
  if (name.empty()) return std::nullopt;
  const auto twin = aten::find_operator(name);
  if (!twin || twin->schema().is_mutable() || twin->schema().returns().size() != 1) return std::nullopt;
  if (twin->schema().arguments().size() != call.op.schema().arguments().size()) return std::nullopt;
  return twin;
}

torch::jit::Stack arguments_of(const WritingCall& call) {
  const auto arguments = torch::jit::last(call.stack, call.op.schema().arguments().size());
  return torch::jit::Stack(arguments.begin(), arguments.end());
}

// The call took effect: takes the arguments away and leaves `results`.
void answer(const WritingCall& call, torch::jit::Stack results) {
  call.ran = true;
  torch::jit::drop(call.stack, call.op.schema().arguments().size());
  for (c10::IValue& result : results) call.stack.push_back(std::move(result));
}

// t_, squeeze_ …: the tensor becomes another view of its memory.
std::size_t record_view_in_place(const WritingCall& call, GraphBuilder& builder, Aliases& aliases) {
  const std::string name = twin_name(call.op);
  if (call.writes.size() != 1 || !twin_of(call, name) || ir::kind(name) != ir::OpKind::view)
    throw Refused(format("{} gives a tensor other memory", aten::op_name(call.op.operator_name())));
  call.op.callBoxed(call.stack);
  call.ran = true;
  const Write& write = call.writes[0];
  const ir::ValueId id = builder.add_result(write.tensor);
  aliases.add_result(write.tensor, id, 0, std::array{write.value});
  return builder.add_node(name, call.operands, {id});
}

std::size_t record_copy(const WritingCall& call, GraphBuilder& builder, Aliases& aliases) {
  const Write& write = call.writes[0];
  const std::size_t first = builder.graph.nodes.size();
  Recorded from = {call.stack.at(call.stack.size() - 2).toTensor(), call.operands.at(1).values.at(0)};
  if (from.tensor.sizes() != write.tensor.sizes()) {
    from = run(builder, "expand", {from.tensor, write.tensor.sizes().vec(), false},
               {tensor_operand(from.value), sizes_operand(write.tensor.sizes()), attribute_operand(false)});
  }
  const ir::ValueId before_cast = from.value;
  from = cast(builder, std::move(from), write.tensor);
  // The two tensors stay apart: what is written to one later must not show in the other.
  if (from.value == before_cast)
    from = run(builder, "clone", {from.tensor, c10::IValue()}, {tensor_operand(from.value), none_operand()});
  write.tensor.copy_(from.tensor);
  answer(call, {write.tensor});
  aliases.write(write.tensor, write.value, from.value);
  return first;
}

// Batch norm in training changes its running statistics without its schema saying so.
std::size_t record_batch_norm(const WritingCall& call, GraphBuilder& builder, Aliases& aliases) {
  constexpr const char* op = "_native_batch_norm_legit_functional";
  torch::jit::Stack results = arguments_of(call);
  aten::find_operator(op)->callBoxed(results);
  std::vector<ir::ValueId> ids;
  for (const c10::IValue& result : results) ids.push_back(builder.add_result(result.toTensor()));
  for (std::size_t i = 0; i < 3; ++i) aliases.add(results[i].toTensor(), ids[i]);
  const std::size_t node = builder.add_node(op, call.operands, ids);
  for (std::size_t i = 0; i < 2; ++i) call.writes[i].tensor.copy_(results[3 + i].toTensor());
  results.resize(3);
  answer(call, std::move(results));
  for (std::size_t i = 0; i < 2; ++i) aliases.write(call.writes[i].tensor, call.writes[i].value, ids[3 + i]);
  return node;
}

// One target, one result: "add_" as "add", cast where types were promoted.
std::optional<std::size_t> record_twin(const WritingCall& call, GraphBuilder& builder, Aliases& aliases) {
  const std::string name = twin_name(call.op);
  const auto twin = twin_of(call, name);
  if (!twin || call.writes.size() != 1 || call.writes[0].argument != 0 || call.op.schema().returns().size() != 1 ||
      aten::kind(twin->schema().returns()[0]) != aten::ArgumentKind::tensor)
    return std::nullopt;
  const Write& write = call.writes[0];
  torch::jit::Stack results = arguments_of(call);
  try {
    twin->callBoxed(results);
  } catch (const c10::Error&) {  // more particular than the writing form
    return std::nullopt;
  }
  Recorded result = {results.at(0).toTensor(), -1};
  if (result.tensor.sizes() != write.tensor.sizes()) return std::nullopt;
  result.value = builder.add_result(result.tensor);
  const std::size_t node = builder.add_node(name, call.operands, {result.value});
  result = cast(builder, std::move(result), write.tensor);
  write.tensor.copy_(result.tensor);
  answer(call, {write.tensor});
  aliases.write(write.tensor, write.value, result.value);
  return node;
}

// Everything else runs as it is, and is replayed on copies of what it writes.
std::size_t record_on_copies(const WritingCall& call, GraphBuilder& builder, Aliases& aliases) {
  const c10::FunctionSchema& schema = call.op.schema();
  std::vector<Geometry> before;
  for (const Write& write : call.writes) before.emplace_back(write.tensor);
  call.op.callBoxed(call.stack);
  call.ran = true;

  std::vector<ir::ValueId> ids;
  for (std::size_t i = 0; i < call.writes.size(); ++i) {
    const at::Tensor& tensor = call.writes[i].tensor;
    if (!before[i].is_of(tensor))
      throw Refused(format("{} gives a tensor another shape", aten::op_name(call.op.operator_name())));
    ids.push_back(builder.add_result(tensor));
  }
  const auto& returns = schema.returns();
  for (std::size_t i = 0; i < returns.size(); ++i) {
    if (returns[i].alias_info() != nullptr && returns[i].alias_info()->isWrite()) continue;
    const c10::IValue& returned = call.stack.at(call.stack.size() - returns.size() + i);
    const bool defined = returned.isTensor() && returned.toTensor().defined();
    ids.push_back(defined ? builder.add_result(returned.toTensor()) : -1);
    if (defined) aliases.add(returned.toTensor(), ids.back());
  }
  const std::size_t node = builder.add_node(
      std::string(aten::kFunctionalPrefix) + aten::op_name(call.op.operator_name()), call.operands, ids);
  for (std::size_t i = 0; i < call.writes.size(); ++i)
    aliases.write(call.writes[i].tensor, call.writes[i].value, ids[i]);
  return node;
}

}  // namespace

std::size_t functionalize(const WritingCall& call, GraphBuilder& builder, Aliases& aliases) {
  const std::string name = aten::op_name(call.op.operator_name());
  if (call.op.hasTag(at::Tag::inplace_view)) return record_view_in_place(call, builder, aliases);
  if (name == "copy_") return record_copy(call, builder, aliases);
  if (name == "native_batch_norm" && call.writes.size() == 2) return record_batch_norm(call, builder, aliases);
  if (const auto node = record_twin(call, builder, aliases)) return *node;
  return record_on_copies(call, builder, aliases);
}

}  // namespace lathe::capture
