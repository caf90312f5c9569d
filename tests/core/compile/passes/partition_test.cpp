#include "core/compile/passes/partition.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/compile/ir/operands.h"
#include "core/compile/ir/ops.h"
#include "core/compile/ir/text.h"
#include "core/compile/passes/cse.h"
#include "core/compile/passes/dead_code.h"
#include "core/compile/passes/decompose.h"
#include "core/compile/passes/fold.h"
#include "core/compile/passes/min_cut.h"
#include "tests/core/compile/passes/graph_check.h"
#include "tests/support/test_main.h"

using namespace lathe;
using namespace lathe::testing;
using passes::Recompute;

namespace {

ir::Graph prepared(const std::string& name) {
  ir::Graph graph = load_graph(name);
  passes::decompose(graph);
  passes::fold(graph);
  passes::merge_common_subexpressions(graph);
  passes::remove_dead_code(graph);
  return graph;
}

// Runs the forward, keeps only what was cut, runs the backward from that: the worst difference to running everything.
double change_by_cut(const ir::Graph& graph, const ir::Partition& cut, const std::vector<std::int64_t>& symbols) {
  Interpreter whole(graph, symbols), forward(graph, symbols), backward(graph, symbols);
  for (Interpreter* interpreter : {&whole, &forward, &backward}) interpreter->fill_leaves();
  whole.run_all();
  for (const std::int32_t node : cut.forward) forward.run(graph.nodes[static_cast<std::size_t>(node)]);
  for (const ir::ValueId id : cut.saved) backward.set(id, forward.get(id));
  const auto leaves = {&graph.inputs, &graph.parameters, &graph.constants};
  for (const auto* list : leaves) {
    for (const ir::ValueId id : *list) {
      if (std::find(cut.read_outside.begin(), cut.read_outside.end(), id) == cut.read_outside.end())
        backward.forget(id);
    }
  }
  for (const std::int32_t node : cut.backward) backward.run(graph.nodes[static_cast<std::size_t>(node)]);
  double worst = 0;
  for (const ir::ValueId id : results_of(graph)) {
    const bool is_output = std::find(graph.outputs.begin(), graph.outputs.end(), id) != graph.outputs.end();
    worst = std::max(worst, difference((is_output ? forward : backward).get(id), whole.get(id)));
  }
  return worst;
}

}  // namespace

class TestPartition : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void cutsWhereLeastFlows();
  void savesTheSmallestValues();
  void placesRecomputedNodesBeforeTheirReaders();
  void neverDrawsTwice();
  void keepsGradientsOnEveryRung_data();
  void keepsGradientsOnEveryRung();
  void savesLessForLess();
  void takesAForcedCut();
};

void TestPartition::cutsWhereLeastFlows() {
  passes::FlowNetwork network(4);  // 0 → {1, 2} → 3
  network.add_edge(0, 1, 5);
  network.add_edge(0, 2, 2);
  network.add_edge(1, 3, 3);
  network.add_edge(2, 3, 2);
  QCOMPARE(network.run(0, 3), std::int64_t{5});
  QCOMPARE(network.sink_side(3), (std::vector<bool>{false, false, false, true}));
}

// The statistics are kept, what is made of them is made again; the larger result of the product is not kept.
void TestPartition::savesTheSmallestValues() {
  const ir::Graph graph = ir::parse(R"(symbol s0: input_dim %0 dim 0 hint 64 min 2
input %0: f32[s0, 16] strides [16, 1]
parameter %1: f32[16, 4] strides [4, 1]
tangent %2: f32[s0, 4] strides [4, 1]
%3: f32[s0, 1] strides [1, 1] = mean.dim(%0, [-1], true, none)
%4: f32[s0, 16] strides [16, 1] = sub.Tensor(%0, %3, 1)
%5: f32[s0, 16] strides [16, 1] = exp(%4)
%6: f32[s0, 4] strides [4, 1] = mm(%5, %1)
%7: f32[s0, 4] strides [4, 1] = tanh(%6)
%8: f32[s0, 4] strides [4, 1] = backward tanh_backward(%2, %7)
%9: f32[4, 16] strides [1, 4] = backward t(%1)
%10: f32[s0, 16] strides [16, 1] = backward mm(%8, %9)
%11: f32[s0, 16] strides [16, 1] = backward mul.Tensor(%10, %5)
%12: f32[16, s0] strides [1, 16] = backward t(%5)
%13: f32[16, 4] strides [4, 1] = backward mm(%12, %8)
output %7
input_gradient %11
parameter_gradient %13
)");
  const ir::Partition cheap = passes::partition(graph, {.budget = 1.0});
  QCOMPARE(cheap.saved, (std::vector<ir::ValueId>{5, 7}));  // exp itself costs no more than input and statistics
  QCOMPARE(QString::fromStdString(ir::print(cheap.saved_bytes)), QString("80*s0"));
  QCOMPARE(cheap.saved_bytes_at_hint, std::int64_t{80 * 64});
  const ir::Partition none = passes::partition(graph, {.budget = 0.0});
  QVERIFY(none.saved.empty());
  QCOMPARE(none.read_outside, (std::vector<ir::ValueId>{0, 1}));
  QCOMPARE(none.recomputed, 5);
  QCOMPARE(none.recomputed_products, 1);
  QCOMPARE(change_by_cut(graph, none, {3}), 0.0);
}

void TestPartition::placesRecomputedNodesBeforeTheirReaders() {
  const ir::Graph graph = ir::parse(R"(input %0: f32[4] strides [1]
input %1: f32[4] strides [1]
tangent %2: f32[4] strides [1]
%3: f32[4] strides [1] = exp(%0)
%4: f32[4] strides [1] = mul.Tensor(%3, %1)
%5: f32[4] strides [1] = backward neg(%2)
%6: f32[4] strides [1] = backward mul.Tensor(%5, %3)
%7: f32[4] strides [1] = backward mul.Tensor(%6, %1)
output %4
input_gradient %7
input_gradient %6
)");
  const ir::Partition cut = passes::partition(graph, {.rung = Recompute::all});
  QCOMPARE(cut.forward, (std::vector<std::int32_t>{0, 1}));
  QCOMPARE(cut.backward, (std::vector<std::int32_t>{2, 0, 3, 4}));
}

void TestPartition::neverDrawsTwice() {
  const ir::Graph graph = ir::parse(R"(input %0: f32[4] strides [1]
tangent %1: f32[4] strides [1]
%2: bool[4] strides [1] = bernoulli.p(%0, 0.5, none) draw 0
%3: f32[4] strides [1] = mul.Tensor(%0, %2)
%4: f32[4] strides [1] = backward mul.Tensor(%1, %2)
output %3
input_gradient %4
)");
  const ir::Partition cut = passes::partition(graph, {.budget = 0.0});
  QCOMPARE(cut.saved, (std::vector<ir::ValueId>{2}));
  QVERIFY_THROWS_EXCEPTION(Error, passes::partition(graph, {.forced_saved = std::vector<ir::ValueId>{}}));
}

void TestPartition::keepsGradientsOnEveryRung_data() {
  QTest::addColumn<QString>("name");
  QTest::addColumn<int>("rung");
  for (const char* name : {"anima_block_f32", "anima_block_bf16", "adapter_block_f32"}) {
    for (const Recompute rung : {Recompute::nothing, Recompute::cheap, Recompute::products, Recompute::all})
      QTest::addRow("%s %d", name, static_cast<int>(rung)) << name << static_cast<int>(rung);
  }
}

void TestPartition::keepsGradientsOnEveryRung() {
  QFETCH(QString, name);
  QFETCH(int, rung);
  const ir::Graph graph = prepared(name.toStdString());
  const ir::Partition cut = passes::partition(graph, {.rung = static_cast<Recompute>(rung)});
  QCOMPARE(change_by_cut(graph, cut, other_sizes(graph)), 0.0);
  if (rung == static_cast<int>(Recompute::nothing)) QCOMPARE(cut.recomputed, 0);
  if (rung == static_cast<int>(Recompute::cheap)) QCOMPARE(cut.recomputed_products, 0);
  if (rung == static_cast<int>(Recompute::all)) QVERIFY(cut.saved.empty());
  for (const ir::ValueId id : cut.saved) {
    const ir::Node& node = graph.nodes[static_cast<std::size_t>(graph.values[static_cast<std::size_t>(id)].index)];
    QVERIFY(ir::kind(node.op) != ir::OpKind::view);
  }
}

void TestPartition::savesLessForLess() {
  const ir::Graph graph = prepared("anima_block_bf16");
  const std::int64_t everything = passes::partition(graph, {.rung = Recompute::nothing}).saved_bytes_at_hint;
  std::int64_t last = INT64_MAX;
  std::int32_t products = 0;
  for (const double budget : {1.0, 0.5, 0.3, 0.1, 0.02, 0.0}) {
    const ir::Partition cut = passes::partition(graph, {.budget = budget});
    QVERIFY(static_cast<double>(cut.saved_bytes_at_hint) <= budget * static_cast<double>(everything));
    QVERIFY(cut.saved_bytes_at_hint <= last);
    QVERIFY(cut.recomputed_products >= products);
    last = cut.saved_bytes_at_hint;
    products = cut.recomputed_products;
    QCOMPARE(change_by_cut(graph, cut, other_sizes(graph)), 0.0);
  }
  QVERIFY(products > 30);
}

void TestPartition::takesAForcedCut() {
  const ir::Graph graph = prepared("anima_block_f32");
  const ir::Partition cut = passes::partition(graph);
  const ir::Partition again = passes::partition(graph, {.budget = 0.0, .forced_saved = cut.saved});
  QCOMPARE(again.saved, cut.saved);
  QCOMPARE(again.backward, cut.backward);
}

LATHE_TEST(TestPartition);
#include "partition_test.moc"
