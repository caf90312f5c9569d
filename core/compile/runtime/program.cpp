#include "core/compile/runtime/program.h"

#include <algorithm>
#include <utility>

#include "core/base/format.h"
#include "core/compile/aten/generators.h"

namespace lathe::runtime {

namespace {

// Sizes whose operands stay evaluated. A run meets few (its buckets); past that they are evaluated anew.
constexpr std::size_t kKeptSizes = 64;

}  // namespace

Program::Program(const ir::Graph& graph, ir::Program program, std::vector<std::unique_ptr<Kernel>> kernels,
                 std::vector<bool> repeated_draws)
    : graph_(graph),
      program_(std::move(program)),
      kernels_(std::move(kernels)),
      repeated_draws_(std::move(repeated_draws)) {
  for (std::size_t i = 0; i < graph.symbols.size(); ++i) {
    is_data_.push_back(graph.symbols[i].from == ir::Symbol::From::data);
    if (!is_data_.back()) has_input_symbols_ = true;
    for (std::size_t node = 0; is_data_.back() && node < graph.nodes.size(); ++node) {
      if (std::ranges::find(graph.nodes[node].results, graph.symbols[i].value) != graph.nodes[node].results.end())
        data_sizes_.push_back({i, static_cast<std::int32_t>(node)});
    }
  }
  if (!has_input_symbols_)
    only_calls_ = bound({.values = std::vector<std::int64_t>(is_data_.size(), 0), .late = is_data_});
}

std::shared_ptr<const Program::Calls> Program::bound(const aten::SymbolValues& symbols) const {
  auto calls = std::make_shared<Calls>();
  for (const ir::Step& step : program_.steps) {
    if (step.kind == ir::Step::Kind::kernel)
      calls->emplace_back(std::nullopt);
    else
      calls->emplace_back(std::in_place, graph_, graph_.nodes[slot(step.index)], symbols);
  }
  return calls;
}

std::shared_ptr<const Program::Calls> Program::calls(const std::vector<std::int64_t>& symbols) const {
  if (only_calls_) return only_calls_;
  aten::SymbolValues known{.values = symbols, .late = is_data_};
  for (const DataSize& size : data_sizes_) known.values[size.symbol] = 0;

  const std::lock_guard lock(mutex_);
  if (const auto found = calls_.find(known.values); found != calls_.end()) return found->second;
  auto calls = bound(known);
  if (calls_.size() >= kKeptSizes) calls_.clear();
  calls_.emplace(std::move(known.values), calls);
  return calls;
}

std::optional<Mismatch> Program::run(Frame& frame) const {
  const aten::BelowAutograd below;
  const std::shared_ptr<const Calls> calls = this->calls(frame.symbols);
  torch::jit::Stack stack;
  for (std::size_t i = 0; i < program_.steps.size(); ++i) {
    const ir::Step& step = program_.steps[i];
    if (step.kind == ir::Step::Kind::kernel) {
      kernels_[slot(step.index)]->run(frame.values, frame.symbols);
    } else {
      const aten::Call& call = *(*calls)[i];
      const ir::Node& node = graph_.nodes[slot(step.index)];
      const std::optional<double> read =
          node.draw < 0 ? call.run(frame.values, frame.symbols, stack) : draw(call, node, frame, stack);
      if (node.read || !data_sizes_.empty()) {
        if (auto mismatch = after(step.index, read, frame)) return mismatch;
      }
    }
    for (const ir::ValueId id : step.frees) frame.values[slot(id)].reset();
  }
  return std::nullopt;
}

// Compares what the node read, and learns the sizes that its result decides.
std::optional<Mismatch> Program::after(std::int32_t node, std::optional<double> read, Frame& frame) const {
  const auto& expected = graph_.nodes[slot(node)].read;
  if (expected && read != expected->expected) {
    return Mismatch{node,
                    format("'{}' read {} → {}", graph_.nodes[slot(node)].op, expected->expected, read.value_or(0.0))};
  }
  for (const DataSize& size : data_sizes_) {
    if (size.node != node) continue;
    const ir::Symbol& symbol = graph_.symbols[size.symbol];
    const std::int64_t seen = frame.values[slot(symbol.value)].size(symbol.dim);
    const ir::Size& recorded = graph_.values[slot(symbol.value)].sizes[slot(symbol.dim)];
    const bool fits = recorded.constant() ? *recorded.constant() == seen : seen >= symbol.min && seen <= symbol.max;
    if (!fits)
      return Mismatch{node, format("'{}' gave {} → {} elements", graph_.nodes[slot(node)].op, symbol.hint, seen)};
    frame.symbols[size.symbol] = seen;
  }
  return std::nullopt;
}

// A draw that comes a second time starts from the state that it had the first time, and leaves no trace.
std::optional<double> Program::draw(const aten::Call& call, const ir::Node& node, Frame& frame,
                                    torch::jit::Stack& stack) const {
  if (!repeated_draws_[slot(node.draw)]) return call.run(frame.values, frame.symbols, stack);
  const ir::ValueId result = node.results.at(0);
  const at::Device device = result < 0 ? at::Device(at::kCPU) : aten::to_aten(graph_.values[slot(result)].device);
  at::Tensor& kept = frame.draws[slot(node.draw)];
  const at::Tensor now = aten::random_state(device);
  if (!kept.defined()) {
    kept = now;
    return call.run(frame.values, frame.symbols, stack);
  }
  aten::set_random_state(device, kept);
  const std::optional<double> read = call.run(frame.values, frame.symbols, stack);
  aten::set_random_state(device, now);
  return read;
}

}  // namespace lathe::runtime
