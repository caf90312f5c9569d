#include "core/compile/capture/joint.h"

#include <algorithm>
#include <chrono>
#include <mutex>
#include <unordered_set>

#include <ATen/ATen.h>
#include <ATen/autocast_mode.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/variable.h>

#include "core/base/format.h"
#include "core/compile/aten/autocast.h"
#include "core/compile/capture/fallback.h"
#include "core/compile/capture/outputs.h"
#include "core/compile/capture/random.h"
#include "core/compile/ir/text.h"

namespace lathe::capture {

namespace {

// Weights that autocast cast before would enter the graph as foreign tensors; those cast while recording must not leave
// it.
struct FreshAutocastCache {
  FreshAutocastCache() { at::autocast::clear_cache(); }
  ~FreshAutocastCache() { at::autocast::clear_cache(); }
};

std::optional<std::string> why_not(const BlockCall& call) {
  if (auto reason = why_unavailable()) return reason;
  if (recording()) return "the block runs inside one that is being recorded";
  if (c10::InferenceMode::is_enabled()) return "inference mode is on: calls arrive undecomposed there";
  for (const auto list : {call.inputs, call.parameters}) {
    for (const at::Tensor& tensor : list) {
      if (tensor.defined() && tensor.is_inference()) return "a tensor was made in inference mode";
    }
  }
  for (const at::Tensor& parameter : call.parameters) {
    if (parameter.defined() && parameter.requires_grad() && !torch::autograd::impl::hooks(parameter).empty())
      return "a parameter has a tensor hook, which a recording would call";
  }
  return std::nullopt;
}

class Session {
 public:
  Session(const BlockCall& call, std::uint64_t used_outputs, const RandomKeeper& random)
      : call_(call), used_outputs_(used_outputs), recorder_(random) {}

  Recording record() {
    register_tensors();
    if (run_forward()) run_backward();
    recorder_.restore();

    Recording result;
    result.block = std::move(block_);
    result.block.graph = recorder_.take_graph();
    result.block.graph.inputs = std::move(inputs_);
    result.block.graph.parameters = std::move(parameters_);
    result.block.graph.tangents = std::move(tangents_);
    result.block.graph.outputs = std::move(outputs_.values);
    result.block.graph.output_views = std::move(outputs_.views);
    result.block.graph.write_backs = std::move(write_backs_);
    result.block.graph.input_gradients = std::move(input_gradients_);
    result.block.graph.parameter_gradients = std::move(parameter_gradients_);
    result.block.constants = recorder_.take_constants();
    result.refused = recorder_.refused();
    if (!result.refused) {
      if (const auto fault = ir::why_invalid(result.block.graph))
        result.refused = "the recording is invalid: " + *fault;
    }
    if (result.refused) result.block = {};
    return result;
  }

 private:
  void register_tensors() {
    for (std::size_t i = 0; i < call_.inputs.size(); ++i) {
      const at::Tensor& input = call_.inputs[i];
      at::Tensor own = input.defined() ? input.detach() : at::Tensor();
      if (own.defined()) {
        if (input.requires_grad()) own.requires_grad_(true);
        inputs_.push_back(recorder_.add(own, ir::Origin::input, given_inputs_.size()));
        given_inputs_.push_back(own);
        block_.inputs.push_back(static_cast<std::int32_t>(i));
      }
      forward_inputs_.push_back(std::move(own));
    }
    std::unordered_set<const c10::TensorImpl*> seen;
    for (std::size_t i = 0; i < call_.parameters.size(); ++i) {
      const at::Tensor& parameter = call_.parameters[i];
      if (!parameter.defined() || !seen.insert(parameter.unsafeGetTensorImpl()).second) continue;
      parameters_.push_back(recorder_.add(parameter, ir::Origin::parameter, given_parameters_.size()));
      given_parameters_.push_back(parameter);
      block_.parameters.push_back(static_cast<std::int32_t>(i));
    }
  }

  // Whether there is anything to go on with.
  bool run_forward() {
    std::vector<at::Tensor> outputs;
    try {
      const RecordScope scope(recorder_);
      outputs = call_.forward(forward_inputs_);
    } catch (const std::exception& error) {
      recorder_.refuse(format("the block fails while it is recorded: {}", error.what()));
    }
    if (recorder_.refused()) return false;
    outputs_ = describe_outputs(outputs, given_inputs_, given_parameters_, recorder_);
    note_writes(given_inputs_, inputs_);
    note_writes(given_parameters_, parameters_);
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const bool needs = outputs[i].defined() && outputs[i].requires_grad();
      block_.output_needs_gradient.push_back(needs);
      const bool used = i >= 64 || ((used_outputs_ >> i) & 1) != 0;
      if (!needs || !used || outputs_.is_view(i)) continue;
      at::Tensor tangent = at::ones(outputs[i].sizes(), outputs[i].options().requires_grad(false));
      tangents_.push_back(recorder_.add(tangent, ir::Origin::tangent, tangents_.size()));
      block_.tangent_outputs.push_back(static_cast<std::int32_t>(i));
      given_tangents_.push_back(std::move(tangent));
      differentiated_.push_back(outputs[i]);
    }
    return !recorder_.refused();
  }

  // What the block wrote into its inputs and buffers.
  void note_writes(const std::vector<at::Tensor>& tensors, const std::vector<ir::ValueId>& ids) {
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      const ir::ValueId now = recorder_.value_of(tensors[i]);
      if (now == ids[i]) continue;
      write_backs_.push_back({ids[i], now});
      if (!tensors[i].is_leaf()) recorder_.refuse("the block writes a value that needs a gradient into its input");
    }
  }

  void run_backward() {
    std::vector<at::Tensor> sources;
    for (const auto* list : {&given_inputs_, &given_parameters_}) {
      for (const at::Tensor& tensor : *list) {
        if (tensor.requires_grad()) sources.push_back(tensor);
      }
    }
    std::vector<at::Tensor> gradients(sources.size());
    recorder_.begin_backward();
    if (!differentiated_.empty() && !sources.empty()) {
      try {
        const aten::AutocastScope off(aten::AutocastMode::now().off());  // as in a training step
        const RecordScope scope(recorder_);
        gradients = torch::autograd::grad(differentiated_, sources, given_tangents_, /*retain_graph=*/false,
                                          /*create_graph=*/false, /*allow_unused=*/true);
      } catch (const std::exception& error) {
        recorder_.refuse(format("the block's backward fails while it is recorded: {}", error.what()));
      }
    }
    std::size_t next = 0;
    const auto values = [&](const std::vector<at::Tensor>& tensors) {
      std::vector<ir::ValueId> ids;
      for (const at::Tensor& tensor : tensors)
        ids.push_back(tensor.requires_grad() ? recorder_.value_of(gradients[next++]) : -1);
      return ids;
    };
    input_gradients_ = values(given_inputs_);
    parameter_gradients_ = values(given_parameters_);
  }

  const BlockCall& call_;
  std::uint64_t used_outputs_;
  Recorder recorder_;
  aten::BlockGraph block_;
  std::vector<at::Tensor> forward_inputs_;  // as the block gets them
  std::vector<at::Tensor> given_inputs_, given_parameters_, given_tangents_, differentiated_;
  std::vector<ir::ValueId> inputs_, parameters_, tangents_, input_gradients_, parameter_gradients_;
  Outputs outputs_;
  std::vector<ir::WriteBack> write_backs_;
};

}  // namespace

Recording record_joint(const BlockCall& call, std::uint64_t used_outputs) {
  const auto start = std::chrono::steady_clock::now();
  Recording result;
  result.refused = why_not(call);
  if (!result.refused) {
    static std::mutex one_at_a_time;
    const std::lock_guard lock(one_at_a_time);
    const FreshAutocastCache cache;
    std::vector<at::Tensor> tensors(call.inputs.begin(), call.inputs.end());
    tensors.insert(tensors.end(), call.parameters.begin(), call.parameters.end());
    const RandomKeeper random(tensors);
    result = Session(call, used_outputs, random).record();
  }
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return result;
}

}  // namespace lathe::capture
