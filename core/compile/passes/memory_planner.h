#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "core/compile/ir/program.h"

namespace lathe::passes {

struct MemoryOptions {
  // Values of all symbols: the plan is for these sizes alone, tighter, and holds numbers. Without: for every size that
  // the symbols may take; buffers then share a place only where one provably fits into the other.
  std::optional<std::vector<std::int64_t>> symbols;
  // Whether a library call can write its results where it is told; without it none can.
  std::function<bool(const ir::Node&)> takes_place;
};

// Places the program's temporaries in one arena: results of kernels and of library calls that take a place, but for
// outputs and what outputs show. Two buffers that live at the same step never overlap; a step's results and what it
// frees live at the same step. Sizes that depend on data are left out: nothing is known of them in time.
ir::MemoryPlan plan_memory(const ir::Graph& graph, const ir::Program& program, const MemoryOptions& options = {});

// Products and attention of ATen that have an out= form with every result given.
bool has_out_form(const ir::Node& node);

}  // namespace lathe::passes
