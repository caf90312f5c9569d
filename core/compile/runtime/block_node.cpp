#include "core/compile/runtime/block_node.h"

#include <algorithm>
#include <type_traits>
#include <utility>

#include <ATen/ATen.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/functions/utils.h>
#include <torch/csrc/autograd/saved_variable.h>
#include <torch/csrc/autograd/variable.h>

#include "core/base/error.h"
#include "core/base/format.h"
#include "core/compile/aten/autocast.h"
#include "core/compile/aten/generators.h"

namespace lathe::runtime {

namespace {

namespace autograd = torch::autograd;

// LibTorch 2.11 holds nodes by shared_ptr, 2.13 by intrusive_ptr.
template <class Node>
auto make_node() {
  using Held = decltype(autograd::Edge::function);
  if constexpr (std::is_same_v<Held, std::shared_ptr<autograd::Node>>) {
    return std::make_shared<Node>();
  } else {
    return c10::make_intrusive<Node>();
  }
}

// The backward of one call of a block.
class BlockNode : public autograd::Node {
 public:
  struct Place {  // among the graph's inputs or parameters
    bool of_input = true;
    std::size_t index = 0;
  };
  struct Outside {  // an input or a parameter that the backward may read
    Place place;
    autograd::SavedVariable variable;
    at::Tensor copy;  // instead, where the block itself writes it
  };
  struct Saved {
    at::Tensor tensor;
    std::uint32_t version = 0;
  };

  autograd::variable_list apply(autograd::variable_list&& incoming) override;
  std::string name() const override { return "LatheBlockBackward"; }
  void release_variables() override {
    outside.clear();
    saved.clear();
    inputs.clear();
    released_ = true;
  }

  std::shared_ptr<const Artifact> artifact;
  std::vector<Outside> outside;
  std::vector<Saved> saved;    // in the order of the artifact's partition
  std::vector<Place> results;  // whose gradients the engine wants, in the order of the edges
  std::vector<std::int64_t> symbols;
  std::vector<at::Tensor> draws;
  // To record the block again, where only some of several outputs get a gradient.
  BuildAgain again;
  std::vector<autograd::SavedVariable> inputs;
  aten::AutocastMode autocast;

 private:
  const Backward& backward_for(const autograd::variable_list& incoming) const;
  void fill(Frame& frame, const Backward& backward, const autograd::variable_list& incoming) const;
  bool released_ = false;
};

const Backward& BlockNode::backward_for(const autograd::variable_list& incoming) const {
  const auto& outputs = artifact->block().tangent_outputs;
  std::uint64_t used = 0;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (incoming[i].defined()) used |= std::uint64_t{1} << outputs[i];
  }
  if (used == artifact->all_outputs()) return artifact->backward(used, {}, again);
  std::vector<at::Tensor> unpacked;
  for (const autograd::SavedVariable& input : inputs) unpacked.push_back(input.unpack());
  const aten::AutocastScope as_at_the_call(autocast);
  const at::AutoGradMode gradients(true);
  return artifact->backward(used, unpacked, again);
}

void BlockNode::fill(Frame& frame, const Backward& backward, const autograd::variable_list& incoming) const {
  const ir::Graph& graph = backward.block->graph;
  for (const Outside& entry : outside) {
    const ir::ValueId id = (entry.place.of_input ? graph.inputs : graph.parameters)[entry.place.index];
    if (backward.reads[slot(id)]) frame.values[slot(id)] = entry.copy.defined() ? entry.copy : entry.variable.unpack();
  }
  for (std::size_t i = 0; i < graph.constants.size(); ++i)
    frame.values[slot(graph.constants[i])] = backward.block->constants[i];
  for (std::size_t i = 0; i < saved.size(); ++i) {
    if (backward.saved[i] < 0) continue;
    if (static_cast<std::uint32_t>(saved[i].tensor._version()) != saved[i].version) {
      throw Error(ErrorKind::internal,
                  "a tensor that the backward of a compiled block needs was changed in place after the block ran");
    }
    frame.values[slot(backward.saved[i])] = saved[i].tensor;
  }
  for (std::size_t i = 0; i < graph.tangents.size(); ++i) {
    const auto& outputs = artifact->block().tangent_outputs;
    const auto place = std::ranges::find(outputs, backward.block->tangent_outputs[i]) - outputs.begin();
    // The recording saw a dense one.
    frame.values[slot(graph.tangents[i])] = incoming[static_cast<std::size_t>(place)].contiguous();
  }
}

autograd::variable_list BlockNode::apply(autograd::variable_list&& incoming) {
  if (at::GradMode::is_enabled())
    throw Error(ErrorKind::internal, "a compiled block has no second derivative (create_graph is on)");
  if (released_) throw Error(ErrorKind::internal, autograd::ERR_BACKWARD_TWICE);
  if (std::ranges::none_of(incoming, [](const at::Tensor& gradient) { return gradient.defined(); }))
    return autograd::variable_list(results.size());

  const Backward& backward = backward_for(incoming);
  const ir::Graph& graph = backward.block->graph;
  Frame frame{.values = std::vector<at::Tensor>(graph.values.size()), .symbols = symbols, .draws = draws};
  fill(frame, backward, incoming);
  incoming.clear();
  if (const auto mismatch = backward.program->run(frame)) {
    throw Error(ErrorKind::internal,
                format("the backward of a compiled block takes another path than recorded: {}", mismatch->text));
  }
  autograd::variable_list gradients;
  for (const Place& result : results) {
    const ir::ValueId id = (result.of_input ? graph.input_gradients : graph.parameter_gradients)[result.index];
    const bool copied =
        (result.of_input ? backward.copied_input_gradients : backward.copied_parameter_gradients)[result.index];
    at::Tensor gradient = id < 0 ? at::Tensor() : frame.values[slot(id)];
    gradients.push_back(copied ? gradient.clone() : gradient);
  }
  return gradients;
}

using NodePtr = decltype(make_node<BlockNode>());

// One call from its frame to its outputs.
class Call {
 public:
  Call(const std::shared_ptr<const Artifact>& artifact, std::span<const at::Tensor> inputs,
       std::span<const at::Tensor> parameters, const BuildAgain& again)
      : artifact_(artifact),
        block_(artifact->block()),
        graph_(block_.graph),
        inputs_(inputs),
        parameters_(parameters),
        again_(again) {}

  std::variant<std::vector<at::Tensor>, Mismatch> run();

 private:
  const at::Tensor& input(std::size_t k) const { return inputs_[slot(block_.inputs[k])]; }
  const at::Tensor& parameter(std::size_t k) const { return parameters_[slot(block_.parameters[k])]; }
  // The caller's tensor behind an input's or parameter's value.
  const at::Tensor& given(ir::ValueId id) const {
    const ir::Value& value = graph_.values[slot(id)];
    return value.origin == ir::Origin::input ? input(slot(value.index)) : parameter(slot(value.index));
  }
  bool is_written(ir::ValueId id) const {
    return std::ranges::any_of(graph_.write_backs, [&](const ir::WriteBack& write) { return write.target == id; });
  }
  bool is_view(std::size_t output) const {
    return std::ranges::any_of(graph_.output_views,
                               [&](const ir::OutputView& view) { return slot(view.output) == output; });
  }

  void fill();
  NodePtr make_backward() const;
  void save(BlockNode& node);
  void take_outputs();
  void share_versions(const BlockNode& node);
  void write_back();
  void make_views();

  const std::shared_ptr<const Artifact>& artifact_;
  const aten::BlockGraph& block_;
  const ir::Graph& graph_;
  std::span<const at::Tensor> inputs_, parameters_;
  const BuildAgain& again_;
  Frame frame_;
  std::vector<at::Tensor> outputs_;
};

void Call::fill() {
  frame_.values.resize(graph_.values.size());
  frame_.draws.resize(slot(graph_.draw_count));
  for (std::size_t k = 0; k < graph_.inputs.size(); ++k) frame_.values[slot(graph_.inputs[k])] = input(k);
  for (std::size_t k = 0; k < graph_.parameters.size(); ++k) frame_.values[slot(graph_.parameters[k])] = parameter(k);
  for (std::size_t k = 0; k < graph_.constants.size(); ++k)
    frame_.values[slot(graph_.constants[k])] = block_.constants[k];
  if (!graph_.symbols.empty()) frame_.symbols = aten::symbol_values(graph_, frame_.values).values;
}

NodePtr Call::make_backward() const {
  NodePtr node = make_node<BlockNode>();
  node->artifact = artifact_;
  autograd::edge_list edges;
  const auto add = [&](const at::Tensor& tensor, ir::ValueId gradient, bool of_input, std::size_t index) {
    if (gradient < 0) return;
    edges.push_back(autograd::impl::gradient_edge(tensor));
    node->results.push_back({of_input, index});
  };
  for (std::size_t k = 0; k < graph_.inputs.size(); ++k) add(input(k), graph_.input_gradients[k], true, k);
  for (std::size_t k = 0; k < graph_.parameters.size(); ++k) add(parameter(k), graph_.parameter_gradients[k], false, k);
  node->set_next_edges(std::move(edges));
  if (graph_.tangents.size() > 1) {  // a gradient may come for some of them only
    node->again = again_;
    node->autocast = aten::AutocastMode::now();
    for (const at::Tensor& tensor : inputs_) node->inputs.emplace_back(tensor, false);
  }
  return node;
}

// What the backward reads: of the caller's tensors under autograd's own watch, the rest with its version.
void Call::save(BlockNode& node) {
  const auto keep_given = [&](bool of_input, std::size_t index) {
    const ir::ValueId id = (of_input ? graph_.inputs : graph_.parameters)[index];
    if (is_written(id))
      node.outside.push_back({{of_input, index}, {}, given(id).detach().clone()});
    else
      node.outside.push_back({{of_input, index}, autograd::SavedVariable(given(id), false), {}});
  };
  if (graph_.tangents.size() > 1) {  // another backward may read others
    for (std::size_t k = 0; k < graph_.inputs.size(); ++k) keep_given(true, k);
    for (std::size_t k = 0; k < graph_.parameters.size(); ++k) keep_given(false, k);
  } else {
    for (const ir::ValueId id : artifact_->partition().read_outside) {
      const ir::Value& value = graph_.values[slot(id)];
      if (value.origin != ir::Origin::constant) keep_given(value.origin == ir::Origin::input, slot(value.index));
    }
  }
  for (const ir::ValueId id : artifact_->partition().saved) {
    const at::Tensor& tensor = frame_.values[slot(id)];
    const bool is_output = std::ranges::find(graph_.outputs, id) != graph_.outputs.end();
    // An output will point to the node, so the node keeps another tensor of the same memory.
    at::Tensor kept = is_output ? tensor.tensor_data() : tensor;
    const auto version = static_cast<std::uint32_t>(kept._version());
    node.saved.push_back({std::move(kept), version});
  }
  node.symbols = frame_.symbols;
  node.draws = std::move(frame_.draws);
}

void Call::take_outputs() {
  for (std::size_t i = 0; i < graph_.outputs.size(); ++i) {
    if (is_view(i) || graph_.outputs[i] < 0) {
      outputs_.emplace_back();
      continue;
    }
    const ir::ValueId id = graph_.outputs[i];
    at::Tensor output = frame_.values[slot(id)];
    const ir::ValueId shown = artifact_->shown(id);
    const ir::Origin origin = graph_.values[slot(shown)].origin;
    const bool of_caller = origin == ir::Origin::input || origin == ir::Origin::parameter;
    const auto is_same = [&](const at::Tensor& other) { return other.defined() && other.is_same(output); };
    if (of_caller || std::ranges::any_of(outputs_, is_same)) output = output.tensor_data();
    // Memory of the caller's that autograd does not see as a view: writes must show all the same.
    if (of_caller)
      output.unsafeGetTensorImpl()->set_version_counter(given(shown).unsafeGetTensorImpl()->version_counter());
    outputs_.push_back(std::move(output));
  }
}

// The caller may write an output whose memory the backward reads: then its version must tell.
void Call::share_versions(const BlockNode& node) {
  const std::vector<ir::ValueId>& saved = artifact_->partition().saved;
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    if (!outputs_[i].defined()) continue;
    const ir::ValueId shown = artifact_->shown(graph_.outputs[i]);
    for (std::size_t k = 0; k < saved.size(); ++k) {
      if (artifact_->shown(saved[k]) != shown) continue;
      outputs_[i].unsafeGetTensorImpl()->set_version_counter(
          node.saved[k].tensor.unsafeGetTensorImpl()->version_counter());
    }
  }
}

void Call::write_back() {
  const at::NoGradGuard no_gradient;
  for (const ir::WriteBack& write : graph_.write_backs) given(write.target).copy_(frame_.values[slot(write.value)]);
}

void Call::make_views() {
  std::vector<std::int64_t> sizes, strides;
  const auto evaluate = [&](const std::vector<ir::Size>& from, std::vector<std::int64_t>& to) {
    to.clear();
    for (const ir::Size& size : from) to.push_back(size.evaluate(frame_.symbols));
  };
  for (const ir::OutputView& view : graph_.output_views) {
    const at::Tensor& source = view.of == ir::OutputView::Of::input       ? input(slot(view.source))
                               : view.of == ir::OutputView::Of::parameter ? parameter(slot(view.source))
                                                                          : outputs_[slot(view.source)];
    evaluate(view.sizes, sizes);
    evaluate(view.strides, strides);
    const std::int64_t offset = view.offset.evaluate(frame_.symbols);
    const bool is_source =
        offset == 0 && source.sizes() == at::IntArrayRef(sizes) && source.strides() == at::IntArrayRef(strides);
    outputs_[slot(view.output)] =
        is_source ? source : at::as_strided(source, sizes, strides, source.storage_offset() + offset);
  }
}

std::variant<std::vector<at::Tensor>, Mismatch> Call::run() {
  fill();
  std::vector<at::Tensor> random;
  for (const at::Device& device : artifact_->rewound()) random.push_back(aten::random_state(device));
  if (auto mismatch = artifact_->forward().run(frame_)) {
    for (std::size_t i = 0; i < random.size(); ++i) aten::set_random_state(artifact_->rewound()[i], random[i]);
    return std::move(*mismatch);
  }
  take_outputs();
  if (at::GradMode::is_enabled() && !graph_.tangents.empty()) {
    NodePtr node = make_backward();
    save(*node);
    share_versions(*node);
    for (const std::int32_t output : block_.tangent_outputs) autograd::set_history(outputs_[slot(output)], node);
  }
  if (!graph_.write_backs.empty()) write_back();
  make_views();
  return std::move(outputs_);
}

}  // namespace

std::variant<std::vector<at::Tensor>, Mismatch> run_block(const std::shared_ptr<const Artifact>& artifact,
                                                          std::span<const at::Tensor> inputs,
                                                          std::span<const at::Tensor> parameters,
                                                          const BuildAgain& again) {
  return Call(artifact, inputs, parameters, again).run();
}

}  // namespace lathe::runtime
