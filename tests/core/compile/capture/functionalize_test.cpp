#include "core/compile/capture/functionalize.h"

#include <set>

#include <ATen/ATen.h>

#include "core/compile/aten/replay.h"
#include "tests/core/compile/capture/record.h"
#include "tests/support/test_main.h"

using namespace lathe;
using lathe::testing::BlockForward;
using lathe::testing::FunctionBlock;
using lathe::testing::record;
using models::Tensors;
using Inputs = std::span<const at::Tensor>;
using Names = std::vector<std::string>;

// What becomes of calls that write.
class TestFunctionalize : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void becomes_data();
  void becomes();
  void viewsAreUndoneByTheirOwnOperators();
  void staleViewsAreMadeAgain();
  void anInputThatIsWrittenComesBackAsAWrite();
  void batchNormHandsOutItsStatistics();
  void writesNeedNoFurtherValues();
};

namespace {

ir::Graph graph_of(BlockForward forward, Tensors parameters = {}) {
  at::manual_seed(1);
  const FunctionBlock block("f", std::move(parameters), std::move(forward));
  auto recording = record(block, Tensors{at::randn({4, 6}), at::randn({4, 6})});
  if (recording.refused) throw std::runtime_error(*recording.refused);
  return std::move(recording.block.graph);
}

// The value of the graph's first output, computed from the graph alone.
at::Tensor replayed(const ir::Graph& graph) {
  at::manual_seed(1);
  std::vector<at::Tensor> values(graph.values.size());
  for (const ir::ValueId id : graph.inputs) values[static_cast<std::size_t>(id)] = at::randn({4, 6});
  const aten::BelowAutograd below;
  torch::jit::Stack stack;
  for (const ir::Node& node : graph.nodes) aten::Call(graph, node, {}).run(values, {}, stack);
  return values[static_cast<std::size_t>(graph.outputs[0])];
}

struct Case {
  const char* name;
  Names operators;
  BlockForward forward;
};

const std::vector<Case>& cases() {
  static const std::vector<Case> all = {
      {"the operator without its underscore",
       {"clone", "add.Tensor"},
       [](Inputs in, const Tensors&) { return Tensors{in[0].clone().add_(in[1])}; }},
      {"a cast where types are promoted",
       {"zeros", "add.Tensor", "_to_copy"},
       [](Inputs in, const Tensors&) {
         return Tensors{at::zeros({4, 6}, at::kBFloat16).add_(in[0])};
       }},
      {"no cast where an index has another type",
       {"clone", "zeros", "scatter_add"},
       [](Inputs in, const Tensors&) {
         return Tensors{in[0].clone().scatter_add_(1, at::zeros({4, 1}, at::kLong), in[1])};
       }},
      {"copies: expand and cast",
       {"zeros", "select.int", "expand", "_to_copy"},
       [](Inputs in, const Tensors&) {
         return Tensors{at::zeros({4, 6}, at::kBFloat16).copy_(in[0].select(0, 1))};
       }},
      {"copies of the same kind stay apart",
       {"zeros", "clone"},
       [](Inputs in, const Tensors&) {
         return Tensors{at::zeros({4, 6}).copy_(in[0])};
       }},
      {"draws under their other names",
       {"empty.memory_format", "bernoulli.p", "empty.memory_format", "normal_functional", "add.Tensor"},
       [](Inputs, const Tensors&) {
         const at::Tensor coins = at::empty({4, 6}).bernoulli_(0.5);
         return Tensors{coins + at::empty({4, 6}).normal_(0.0, 1.0)};
       }},
      {"copies of the target where there is no other form",
       {"zeros", "lathe::functional::add.out"},
       [](Inputs in, const Tensors&) {
         at::Tensor out = at::zeros({4, 6});
         at::add_out(out, in[0], in[1]);
         return Tensors{out};
       }},
      {"lists",
       {"clone", "clone", "lathe::functional::_foreach_mul_.Scalar", "add.Tensor"},
       [](Inputs in, const Tensors&) {
         std::vector<at::Tensor> list = {in[0].clone(), in[1].clone()};
         at::_foreach_mul_(list, 2.0);
         return Tensors{list[0] + list[1]};
       }},
      {"views in place",
       {"clone", "t", "unsqueeze"},
       [](Inputs in, const Tensors&) {
         at::Tensor y = in[0].clone();
         y.t_();
         y.unsqueeze_(0);
         return Tensors{y};
       }},
  };
  return all;
}

}  // namespace

void TestFunctionalize::becomes_data() {
  QTest::addColumn<int>("which");
  for (std::size_t i = 0; i < cases().size(); ++i) QTest::newRow(cases()[i].name) << static_cast<int>(i);
}

void TestFunctionalize::becomes() {
  QFETCH(int, which);
  const Case& example = cases()[static_cast<std::size_t>(which)];
  const ir::Graph graph = graph_of(example.forward);
  QVERIFY2(testing::operators(graph, false) == example.operators, ir::print(graph).c_str());
  at::manual_seed(1);
  const Tensors inputs = {at::randn({4, 6}), at::randn({4, 6})};
  QVERIFY(at::equal(replayed(graph), example.forward(inputs, {})[0]));
}

void TestFunctionalize::viewsAreUndoneByTheirOwnOperators() {
  const BlockForward forward = [](Inputs in, const Tensors&) {
    at::Tensor y = in[0].clone();
    y.t().select(0, 1).mul_(2);
    y.view({2, 12}).slice(1, 3, 7).add_(1);
    y.permute({1, 0}).unsqueeze(0).slice(1, 0, 6, 2).exp_();
    y.split_with_sizes({2, 4}, 1)[1].neg_();
    y.diagonal().zero_();
    y.unbind(0)[2].fill_(3);
    y.t().view({2, 3, 4}).select(0, 1).t().sub_(0.5);
    return Tensors{y};
  };
  const ir::Graph graph = graph_of(forward);
  std::set<std::string> used;
  for (const std::string& name : testing::operators(graph, false)) used.insert(name);
  for (const char* scatter : {"select_scatter", "slice_scatter", "diagonal_scatter"}) QVERIFY(used.contains(scatter));
  for (const std::string& name : used) QVERIFY2(!name.starts_with("as_strided"), ir::print(graph).c_str());
  at::manual_seed(1);
  QVERIFY(at::equal(replayed(graph), forward(Tensors{at::randn({4, 6})}, {})[0]));
}

void TestFunctionalize::staleViewsAreMadeAgain() {
  const BlockForward forward = [](Inputs in, const Tensors&) {
    at::Tensor y = in[0].clone();
    const at::Tensor row = y.select(0, 2), part = row.slice(0, 1, 4), early = part * 1;
    y.mul_(2);
    return Tensors{early + part, row * 1};
  };
  const ir::Graph graph = graph_of(forward);
  QCOMPARE(testing::operators(graph, false), (Names{"clone", "select.int", "slice.Tensor", "mul.Scalar", "mul.Scalar",
                                                    "select.int", "slice.Tensor", "add.Tensor", "mul.Scalar"}));
  at::manual_seed(1);
  QVERIFY(at::equal(replayed(graph), forward(Tensors{at::randn({4, 6})}, {})[0]));
}

void TestFunctionalize::anInputThatIsWrittenComesBackAsAWrite() {
  const ir::Graph graph = graph_of([](Inputs in, const Tensors&) {
    at::Tensor given = in[1];
    given.select(0, 0).add_(1);
    return Tensors{in[0] * given};
  });
  QCOMPARE(graph.write_backs.size(), std::size_t{1});
  QCOMPARE(graph.write_backs[0].target, graph.inputs[1]);
  const ir::Value& written = graph.values[static_cast<std::size_t>(graph.write_backs[0].value)];
  QVERIFY(written.sizes == graph.values[static_cast<std::size_t>(graph.inputs[1])].sizes);
}

void TestFunctionalize::batchNormHandsOutItsStatistics() {
  const Tensors parameters = {at::zeros({6}), at::ones({6})};
  const ir::Graph training = graph_of(
      [](Inputs in, const Tensors& p) {
        return Tensors{at::batch_norm(in[0], {}, {}, p[0], p[1], true, 0.1, 1e-3, false)};
      },
      parameters);
  QCOMPARE(testing::operators(training, false), Names{"_native_batch_norm_legit_functional"});
  QCOMPARE(training.write_backs.size(), std::size_t{2});
  QVERIFY(at::equal(parameters[0], at::zeros({6})));

  const ir::Graph evaluation = graph_of(
      [](Inputs in, const Tensors& p) {
        return Tensors{at::batch_norm(in[0], {}, {}, p[0], p[1], false, 0.1, 1e-3, false)};
      },
      parameters);
  QCOMPARE(testing::operators(evaluation, false), Names{"native_batch_norm"});
  QVERIFY(evaluation.write_backs.empty());
}

// The old contents of what is overwritten as a whole are read by nobody.
void TestFunctionalize::writesNeedNoFurtherValues() {
  const ir::Graph graph = graph_of([](Inputs in, const Tensors&) {
    at::Tensor y = in[0].exp();
    y.copy_(in[1]);
    return Tensors{y};
  });
  const ir::ValueId overwritten = graph.nodes[0].results[0];
  for (const ir::Node& node : graph.nodes) {
    for (const ir::Operand& operand : node.operands)
      QVERIFY(std::find(operand.values.begin(), operand.values.end(), overwritten) == operand.values.end());
  }
}

LATHE_TEST(TestFunctionalize);
#include "functionalize_test.moc"
