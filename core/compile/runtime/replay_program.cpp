#include "core/compile/runtime/replay_program.h"

#include <algorithm>
#include <set>

#include "core/compile/ir/operands.h"
#include "core/compile/ir/ops.h"
#include "core/compile/runtime/program.h"

namespace lathe::runtime {

namespace {

// `keep`: values that outlive the program, absent ones among them.
ir::Program replay_program(const ir::Graph& graph, const std::vector<std::int32_t>& order,
                           const std::vector<ir::ValueId>& keep) {
  ir::Program program;
  constexpr std::size_t kUnread = SIZE_MAX;
  std::vector<std::size_t> last_read(graph.values.size(), kUnread);
  std::vector<bool> made(graph.values.size(), false);
  std::set<ir::ValueId> inputs;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const ir::Node& node = graph.nodes[slot(order[i])];
    const bool view = ir::kind(node.op) == ir::OpKind::view;
    program.steps.push_back({.kind = view ? ir::Step::Kind::view : ir::Step::Kind::library, .index = order[i]});
    ir::for_each_read(node, [&](ir::ValueId id) {
      last_read[slot(id)] = i;
      if (!made[slot(id)]) inputs.insert(id);
    });
    for (const ir::ValueId id : node.results) {
      if (id < 0) continue;
      made[slot(id)] = true;
      last_read[slot(id)] = i;
    }
  }
  std::set<ir::ValueId> kept(keep.begin(), keep.end());
  kept.erase(-1);
  for (const ir::ValueId id : kept) {
    if (!made[slot(id)]) inputs.insert(id);
  }
  program.inputs.assign(inputs.begin(), inputs.end());
  program.outputs.assign(kept.begin(), kept.end());
  for (std::size_t id = 0; id < last_read.size(); ++id) {
    if (last_read[id] != kUnread && !kept.contains(static_cast<ir::ValueId>(id)))
      program.steps[last_read[id]].frees.push_back(static_cast<ir::ValueId>(id));
  }
  return program;
}

}  // namespace

ReplayPrograms replay_programs(const ir::Graph& graph, const ir::Partition& partition) {
  std::vector<ir::ValueId> after_forward = graph.outputs;
  after_forward.insert(after_forward.end(), partition.saved.begin(), partition.saved.end());
  for (const ir::WriteBack& write : graph.write_backs) after_forward.push_back(write.value);

  std::vector<ir::ValueId> gradients = graph.input_gradients;
  gradients.insert(gradients.end(), graph.parameter_gradients.begin(), graph.parameter_gradients.end());
  return {replay_program(graph, partition.forward, after_forward),
          replay_program(graph, partition.backward, gradients)};
}

std::vector<bool> repeated_draws(const ir::Graph& graph, const ir::Partition& partition) {
  std::vector<int> count(slot(graph.draw_count), 0);
  for (const auto* order : {&partition.forward, &partition.backward}) {
    for (const std::int32_t node : *order) {
      if (graph.nodes[slot(node)].draw >= 0) ++count[slot(graph.nodes[slot(node)].draw)];
    }
  }
  std::vector<bool> repeated;
  for (const int times : count) repeated.push_back(times > 1);
  return repeated;
}

}  // namespace lathe::runtime
