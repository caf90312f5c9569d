#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/compile/ir/program.h"
#include "core/compile/passes/partition.h"

namespace lathe::passes {

// One pass over the joint graph. Returns whether it changed anything.
struct GraphPass {
  std::string_view name;
  bool (*run)(ir::Graph& graph);
};
// Those that run before the partition, in their order; the graph can be replayed after each.
std::span<const GraphPass> graph_passes();

// A recorded graph made ready to run.
struct CompiledGraph {
  ir::Graph graph;
  ir::Partition cut;
  ir::Program forward, backward;
  // Only with PipelineOptions::same_forward: what that one's saved values are called here, −1 for those not read.
  std::vector<ir::ValueId> saved_as;
};

struct PipelineOptions {
  PartitionOptions partition;
  // Without: every node that is no view stays a library call, for a program that only replays.
  bool fuse = true;
  bool merge_products = true;  // see merge.h
  // Another recording of the same call with fewer outputs that have a gradient: its forward is kept and its saved
  // values are what this one's backward starts from.
  const CompiledGraph* same_forward = nullptr;
  // Called with the name of each pass that changed the graph, and its text; then "forward" and "backward" with
  // programs.
  std::function<void(std::string_view stage, const std::string& text)> dump;
};

// Runs all passes. Error(internal) naming the pass that broke an invariant of the graph.
CompiledGraph run_pipeline(ir::Graph graph, const PipelineOptions& options = {});

// A program in words, a step a line: "kernel k_mul_… [s0, 16]: %1 %2 → %5; frees %1".
std::string describe(const ir::Graph& graph, const ir::Program& program);

}  // namespace lathe::passes
