#include "core/compile/passes/pipeline.h"

#include <array>
#include <unordered_map>

#include "core/base/error.h"
#include "core/base/format.h"
#include "core/compile/ir/operands.h"
#include "core/compile/ir/text.h"
#include "core/compile/passes/casts.h"
#include "core/compile/passes/cse.h"
#include "core/compile/passes/dead_code.h"
#include "core/compile/passes/decompose.h"
#include "core/compile/passes/fold.h"
#include "core/compile/passes/fuse.h"
#include "core/compile/passes/merge.h"
#include "core/compile/passes/scales.h"

namespace lathe::passes {

using ir::ValueId;

namespace {

// The order and its reasons:
// - what nobody reads goes first, so that no pass looks at it;
// - fold before the casts: a cast hides behind detach, a transpose of a transpose, a product with 1;
// - casts before common subexpressions: autocast casts a tensor anew for each use, behind another view each time;
// - decompose after them: it would write the parts of two equal norms twice, and its own parts want folding again;
// - the same three once more for the parts: a norm's backward reads mean and deviation through casts that the forward's
//   parts have already, and adds its own views;
// - scales and merged products late: they ask who reads a value, so views must be as few as they get, equal operands
// one
//   and dead readers gone; where a scaled copy goes, its views meet those of what it was a copy of;
// - the partition last: it weighs values, and each of those passes changes which there are.
constexpr std::array<GraphPass, 15> kPasses = {{
    {"dead code", remove_dead_code},
    {"fold", fold},
    {"casts", fold_casts},
    {"common subexpressions", merge_common_subexpressions},
    {"decompose", decompose},
    {"fold parts", fold},
    {"casts of parts", fold_casts},
    {"fold views of casts", fold},
    {"common parts", merge_common_subexpressions},
    {"dead parts", remove_dead_code},
    {"scales", sink_scales},
    {"fold around scales", fold},
    {"common views", merge_common_subexpressions},
    {"merged products", merge_products},
    {"dead scales and products", remove_dead_code},
}};

// Numbers values by what they are computed from, the same in every graph that it is shown.
class Fingerprints {
 public:
  std::vector<std::int64_t> of(const ir::Graph& graph) {
    std::vector<std::int64_t> numbers(graph.values.size(), -1);
    const auto leaves = {std::pair("input", &graph.inputs), std::pair("parameter", &graph.parameters),
                         std::pair("constant", &graph.constants)};
    for (const auto& [kind, list] : leaves) {
      for (std::size_t i = 0; i < list->size(); ++i)
        numbers[at((*list)[i])] = number(format("{} {}", kind, static_cast<std::uint64_t>(i)));
    }
    for (const ir::Node& node : graph.nodes) {
      if (node.backward) continue;
      ir::Node call = node;  // with operands by number
      bool known = true;
      for (ir::Operand& operand : call.operands) {
        for (ValueId& id : operand.values) {
          if (id < 0) continue;
          id = static_cast<ValueId>(numbers[at(id)]);
          known = known && id >= 0;
        }
      }
      if (!known) continue;
      const std::string text = format("{} draw {}", ir::print_call(call), node.draw);
      for (std::size_t i = 0; i < node.results.size(); ++i) {
        if (node.results[i] >= 0)
          numbers[at(node.results[i])] = number(format("{} result {}", text, static_cast<std::uint64_t>(i)));
      }
    }
    return numbers;
  }

 private:
  static std::size_t at(ValueId id) { return static_cast<std::size_t>(id); }
  std::int64_t number(const std::string& text) {
    return seen_.emplace(text, static_cast<std::int64_t>(seen_.size())).first->second;
  }
  std::unordered_map<std::string, std::int64_t> seen_;
};

// What `saved` of one graph are in another with the same forward; −1 where it has none.
std::vector<ValueId> find_again(const ir::Graph& first, const std::vector<ValueId>& saved, const ir::Graph& second) {
  Fingerprints fingerprints;
  const std::vector<std::int64_t> before = fingerprints.of(first), after = fingerprints.of(second);
  std::unordered_map<std::int64_t, ValueId> by_number;
  for (std::size_t id = 0; id < after.size(); ++id) {
    if (after[id] >= 0) by_number.emplace(after[id], static_cast<ValueId>(id));
  }
  std::vector<ValueId> found;
  for (const ValueId id : saved) {
    const auto same = by_number.find(before[static_cast<std::size_t>(id)]);
    found.push_back(same == by_number.end() ? -1 : same->second);
  }
  return found;
}

void cut_graph(CompiledGraph& compiled, const PipelineOptions& options) {
  PartitionOptions cut = options.partition;
  if (options.same_forward != nullptr) {
    compiled.saved_as = find_again(options.same_forward->graph, options.same_forward->cut.saved, compiled.graph);
    cut.forced_saved.emplace();
    for (const ValueId id : compiled.saved_as) {
      if (id >= 0) cut.forced_saved->push_back(id);
    }
  }
  compiled.cut = partition(compiled.graph, cut);
}

}  // namespace

std::span<const GraphPass> graph_passes() {
  return kPasses;
}

CompiledGraph run_pipeline(ir::Graph graph, const PipelineOptions& options) {
  CompiledGraph compiled;
  compiled.graph = std::move(graph);
  for (ir::Node& node : compiled.graph.nodes) node.op = ir::local_name(node.op);  // one spelling
  const auto dump = [&](std::string_view stage, const std::string& text) {
    if (options.dump) options.dump(stage, text);
  };
  for (const GraphPass& pass : kPasses) {
    if (pass.run == merge_products && !options.merge_products) continue;
    const bool changed = pass.run(compiled.graph);
    if (const auto problem = ir::why_invalid(compiled.graph))
      throw Error(ErrorKind::internal, format("after the pass '{}': {}", pass.name, *problem));
    if (changed && options.dump) dump(pass.name, ir::print(compiled.graph));
  }
  cut_graph(compiled, options);

  const ir::Graph& ready = compiled.graph;
  std::vector<ValueId> kept = ready.outputs, gradients = ready.input_gradients;
  for (const ir::WriteBack& write : ready.write_backs) kept.push_back(write.value);
  kept.insert(kept.end(), compiled.cut.saved.begin(), compiled.cut.saved.end());
  gradients.insert(gradients.end(), ready.parameter_gradients.begin(), ready.parameter_gradients.end());
  const auto program = options.fuse ? fuse : replay;
  compiled.forward = program(ready, compiled.cut.forward, kept);
  compiled.backward = program(ready, compiled.cut.backward, gradients);
  if (options.dump) {
    dump("forward", describe(ready, compiled.forward));
    dump("backward", describe(ready, compiled.backward));
  }
  return compiled;
}

std::string describe(const ir::Graph& graph, const ir::Program& program) {
  const auto ids = [](const std::vector<ValueId>& list) {
    std::string text;
    for (const ValueId id : list) text += format(" %{}", id);
    return text;
  };
  std::string text = "inputs" + ids(program.inputs) + "\n";
  for (const ir::Step& step : program.steps) {
    if (step.kind == ir::Step::Kind::kernel) {
      const ir::KernelSpec& kernel = program.kernels[static_cast<std::size_t>(step.index)];
      std::vector<std::string> sizes;
      for (const ir::Size& size : kernel.domain) sizes.push_back(ir::print(size));
      text += format("kernel {} [{}]:{} →{}", kernel.name, join(sizes, ", "), ids(kernel.inputs), ids(kernel.outputs));
    } else {
      const ir::Node& node = graph.nodes[static_cast<std::size_t>(step.index)];
      text += format("{} {} →{}", step.kind == ir::Step::Kind::view ? "view" : "library", ir::print_call(node),
                     ids(node.results));
    }
    text += (step.frees.empty() ? std::string() : "; frees" + ids(step.frees)) + "\n";
  }
  for (const ir::NotFused& left : program.not_fused)
    text += format("not fused {}: {}\n", graph.nodes[static_cast<std::size_t>(left.node)].op, left.reason);
  return text + "outputs" + ids(program.outputs) + "\n";
}

}  // namespace lathe::passes
