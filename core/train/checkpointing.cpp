#include "core/train/checkpointing.h"

#include <algorithm>
#include <utility>

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/custom_function.h>

#include "core/train/precision.h"
#include "core/train/random_state.h"

namespace lathe::train {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// What a later run of the same call needs to give the same numbers.
struct BlockCall : torch::CustomClassHolder {
  const models::Block* block = nullptr;
  int index = 0;
  models::RunBlock run;
  std::size_t input_count = 0;
  AutocastState autocast;
  RandomState random;
};

bool needs_gradient(const at::Tensor& tensor) {
  return tensor.defined() && tensor.requires_grad();
}

variable_list trainable_parameters(const models::Block& block) {
  variable_list result;
  for (const at::Tensor& parameter : block.parameters()) {
    if (needs_gradient(parameter)) result.push_back(parameter);
  }
  return result;
}

class Checkpoint : public torch::autograd::Function<Checkpoint> {
 public:
  // `tensors`: the block's inputs, then its trainable parameters (so that the graph knows they take part).
  static variable_list forward(AutogradContext* context, const c10::intrusive_ptr<BlockCall>& call,
                               at::TensorList tensors) {
    const variable_list all = tensors.vec();
    context->save_for_backward(all);
    context->saved_data["call"] = c10::IValue::make_capsule(call);
    // A cast of a parameter made here carries no gradient: kept in autocast's cache it would reach a later call that
    // needs one.
    AutocastState autocast = call->autocast;
    autocast.cache = false;
    const AutocastGuard guard(autocast);
    return call->run(*call->block, call->index, std::span(all).first(call->input_count));
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const auto holder = context->saved_data["call"].toCapsule();
    const auto& call = static_cast<const BlockCall&>(*holder);
    const variable_list saved = context->get_saved_variables();

    const auto [inputs, outputs] = run_again(call, saved);
    variable_list wanted;
    for (const at::Tensor& input : inputs) {
      if (needs_gradient(input)) wanted.push_back(input);
    }
    wanted.insert(wanted.end(), saved.begin() + static_cast<std::ptrdiff_t>(call.input_count), saved.end());

    variable_list roots, root_gradients;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      if (!outputs[i].requires_grad() || !gradients[i].defined()) continue;
      roots.push_back(outputs[i]);
      root_gradients.push_back(gradients[i]);
    }
    variable_list found(wanted.size());
    if (!roots.empty()) {
      found = torch::autograd::grad(roots, wanted, root_gradients, std::nullopt, false, /*allow_unused=*/true);
    }

    variable_list result = {at::Tensor()};  // for `call`
    std::size_t next = 0;
    for (const at::Tensor& input : inputs) result.push_back(needs_gradient(input) ? found[next++] : at::Tensor());
    result.insert(result.end(), found.begin() + static_cast<std::ptrdiff_t>(next), found.end());
    return result;
  }

 private:
  // The block's inputs cut from the graph, and its outputs computed from them with gradients recorded.
  static std::pair<variable_list, variable_list> run_again(const BlockCall& call, const variable_list& saved) {
    const c10::AutoGradMode record(true);
    variable_list inputs;
    for (std::size_t i = 0; i < call.input_count; ++i) {
      const at::Tensor& input = saved[i];
      inputs.push_back(input.defined() ? input.detach().requires_grad_(input.requires_grad()) : input);
    }
    const RandomStateKeeper keeper(call.random.device.value_or(at::kCPU));
    set_random_state(call.random);
    const AutocastGuard guard(call.autocast);
    variable_list outputs = call.run(*call.block, call.index, inputs);
    return {std::move(inputs), std::move(outputs)};
  }
};

}  // namespace

models::RunBlock with_checkpointing(models::RunBlock inner) {
  return [inner = std::move(inner)](const models::Block& block, int index, std::span<const at::Tensor> inputs) {
    variable_list tensors(inputs.begin(), inputs.end());
    const variable_list parameters = trainable_parameters(block);
    tensors.insert(tensors.end(), parameters.begin(), parameters.end());
    if (!c10::GradMode::is_enabled() || std::none_of(tensors.begin(), tensors.end(), needs_gradient)) {
      return inner(block, index, inputs);
    }

    const at::Device device = inputs.front().device();
    auto call = c10::make_intrusive<BlockCall>();
    call->block = &block;
    call->index = index;
    call->run = inner;
    call->input_count = inputs.size();
    call->autocast = autocast_state(device.type());
    call->random = random_state(device);
    return Checkpoint::apply(call, at::TensorList(tensors));
  };
}

}  // namespace lathe::train
