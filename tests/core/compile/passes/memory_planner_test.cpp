#include "core/compile/passes/memory_planner.h"

#include "core/compile/ir/shape.h"
#include "core/compile/ir/text.h"
#include "core/compile/passes/pipeline.h"
#include "tests/core/compile/passes/graph_check.h"
#include "tests/core/compile/passes/program_runner.h"
#include "tests/support/test_main.h"

using namespace lathe;
using namespace lathe::testing;

namespace {

// exp → product → exp → …, with sizes that grow, shrink and equal one another.
const char* const kChain = R"(symbol s0: input_dim %0 dim 0 hint 4 min 2
input %0: f32[s0, 4] strides [4, 1]
parameter %1: f32[4, 4] strides [4, 1]
parameter %2: f32[4, 8] strides [8, 1]
%3: f32[s0, 4] strides [4, 1] = exp(%0)
%4: f32[s0, 4] strides [4, 1] = mm(%3, %1)
%5: f32[s0, 4] strides [4, 1] = exp(%4)
%6: f32[s0, 8] strides [8, 1] = mm(%5, %2)
%7: f32[s0, 8] strides [8, 1] = tanh(%6)
%8: f32[8, s0] strides [1, 8] = t(%7)
%9: f32[8, 8] strides [8, 1] = mm(%8, %7)
output %9
)";

ir::Program program_of(const ir::Graph& graph) {
  return passes::run_pipeline(graph).forward;
}

// Whether no two buffers that live at the same step share a byte at these sizes.
bool is_sound(const ir::MemoryPlan& plan, const std::vector<std::int64_t>& symbols) {
  const auto begin = [&](const ir::BufferPlan& buffer) { return (buffer.offset.evaluate(symbols) + 63) / 64 * 64; };
  const auto end = [&](const ir::BufferPlan& buffer) { return begin(buffer) + buffer.bytes.evaluate(symbols); };
  for (const ir::BufferPlan& a : plan.buffers) {
    if (end(a) > plan.arena_bytes.evaluate(symbols)) return false;
    for (const ir::BufferPlan& b : plan.buffers) {
      const bool together = a.value != b.value && a.first <= b.last && b.first <= a.last;
      if (together && begin(a) < end(b) && begin(b) < end(a)) return false;
    }
  }
  return true;
}

}  // namespace

class TestMemoryPlanner : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void sharesPlacesOverTime();
  void leavesOutputsAndDataSizesOut();
  void runsABlockInItsArena_data();
  void runsABlockInItsArena();

 private:
  ProgramRunner runner_;  // keeps what it has built
};

void TestMemoryPlanner::sharesPlacesOverTime() {
  const ir::Graph graph = ir::parse(kChain);
  const ir::Program program = program_of(graph);
  const ir::MemoryPlan kernels = passes::plan_memory(graph, program);
  QCOMPARE(kernels.buffers.size(), std::size_t{3});  // 3, 5, 7; the second exp may lie where the first one did
  QCOMPARE(kernels.buffers[1].offset, kernels.buffers[0].offset);
  QCOMPARE(QString::fromStdString(ir::print(kernels.arena_bytes)), QString("48*s0 + 128"));
  QVERIFY(is_sound(kernels, {2}) && is_sound(kernels, {7}));

  const ir::MemoryPlan all = passes::plan_memory(graph, program, {.takes_place = passes::has_out_form});
  QCOMPARE(all.buffers.size(), std::size_t{5});
  QVERIFY(is_sound(all, {2}) && is_sound(all, {9}));

  const ir::MemoryPlan here =
      passes::plan_memory(graph, program, {.symbols = {{64}}, .takes_place = passes::has_out_form});
  QVERIFY(here.arena_bytes.is_constant());
  QVERIFY(is_sound(here, {64}));
  QCOMPARE(here.arena_bytes.constant().value(), std::int64_t{2 * 64 * 8 * 4});  // never more than the two largest
}

void TestMemoryPlanner::leavesOutputsAndDataSizesOut() {
  const ir::Graph graph = ir::parse(R"(symbol s0: data %1 dim 0 hint 3 min 0
input %0: bool[6] strides [1]
%1: i64[s0, 1] strides [1, s0] = nonzero(%0)
%2: f32[s0, 1] strides [1, s0] = _to_copy(%1, :f32, none, none, none, false, none)
%3: f32[s0, s0] strides [s0, 1] = odd(%2)
%4: f32[6] strides [1] = _to_copy(%0, :f32, none, none, none, false, none)
%5: f32[6] strides [1] = exp(%4)
%6: f32[2, 3] strides [3, 1] = view(%5, [2, 3])
output %3
output %6
)");
  const ir::Program program = program_of(graph);
  QVERIFY(passes::plan_memory(graph, program, {.takes_place = [](const ir::Node&) { return true; }}).buffers.empty());
}

void TestMemoryPlanner::runsABlockInItsArena_data() {
  QTest::addColumn<bool>("numbers");
  QTest::newRow("for all sizes") << false;
  QTest::newRow("for one size") << true;
}

// Kernels write over what others left; values read too late would be wrong.
void TestMemoryPlanner::runsABlockInItsArena() {
  QFETCH(bool, numbers);
  if (!runner_.usable()) QSKIP("no C++ compiler here");
  const passes::CompiledGraph compiled = passes::run_pipeline(load_graph("anima_block_f32"));
  const ir::Graph& graph = compiled.graph;
  const std::vector<std::int64_t> sizes = other_sizes(graph);
  const std::optional<std::vector<std::int64_t>> symbols = numbers ? std::optional(sizes) : std::nullopt;
  Interpreter expected(graph, sizes), forward(graph, sizes), backward(graph, sizes);
  for (Interpreter* interpreter : {&expected, &forward, &backward}) interpreter->fill_leaves();
  expected.run_all();
  for (const auto& [program, values] :
       {std::pair(&compiled.forward, &forward), std::pair(&compiled.backward, &backward)}) {
    const ir::MemoryPlan plan = passes::plan_memory(graph, *program, {.symbols = symbols});
    QVERIFY(is_sound(plan, sizes));
    ir::Size together = 0;
    for (const ir::BufferPlan& buffer : plan.buffers) together = together + buffer.bytes;
    QVERIFY(plan.arena_bytes.evaluate(sizes) < together.evaluate(sizes));
    runner_.run(*program, *values, &plan);
    if (program == &compiled.forward) {
      for (const ir::ValueId id : compiled.cut.saved) backward.set(id, forward.get(id));
    }
  }
  for (const ir::ValueId id : results_of(graph)) {
    const double off = difference((forward.has(id) ? forward : backward).get(id), expected.get(id));
    QVERIFY2(off <= 1e-5, qPrintable(QString::number(off)));
  }
}

LATHE_TEST(TestMemoryPlanner);
#include "memory_planner_test.moc"
