#include "core/compile/aten/replay.h"

#include <ATen/ATen.h>
#include <ATen/autocast_mode.h>

#include "core/base/error.h"
#include "core/compile/ir/text.h"
#include "tests/support/test_main.h"

using namespace lathe;

class TestReplayOfACall : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void givesWhatTheOperatorGives();
  void takesListsAndAbsentTensors();
  void viewsShareMemory();
  void resultsHaveTheStridesOfTheGraph();
  void aResultOfAnotherSizeIsAnError();
  void runsBelowAutogradAndAutocast();
  void symbolsAreEvaluated();
  void sizesOfDataAreEvaluatedWhenTheyAreKnown();
  void writingOperatorsWorkOnCopies();
  void wrappedNumbersTakeNoPartInTypePromotion();
  void readsAreHandedOut();
  void whatFitsNoOperatorIsAnError_data();
  void whatFitsNoOperatorIsAnError();
};

namespace {

// Runs all nodes of a graph on `given` (its inputs in order) and returns the values.
std::vector<at::Tensor> run(const ir::Graph& graph, const std::vector<at::Tensor>& given) {
  std::vector<at::Tensor> values(graph.values.size());
  for (std::size_t i = 0; i < given.size(); ++i) values[static_cast<std::size_t>(graph.inputs[i])] = given[i];
  const aten::SymbolValues symbols = aten::symbol_values(graph, values);
  const aten::BelowAutograd below;
  torch::jit::Stack stack;
  for (const ir::Node& node : graph.nodes) aten::Call(graph, node, symbols).run(values, symbols.values, stack);
  return values;
}

QString error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return QString::fromUtf8(error.what());
  }
  return {};
}

}  // namespace

void TestReplayOfACall::givesWhatTheOperatorGives() {
  const ir::Graph graph = ir::parse(R"(
    input %0: f32[3, 4] strides [4, 1]
    %1: f32[4, 3] strides [1, 4] = t(%0)
    %2: f32[3, 3] strides [3, 1] = mm(%0, %1)
    %3: f32[3, 3] strides [3, 1] = gelu(%2, "tanh")
    %4: f32[3] strides [1] = sum.dim_IntList(%3, [-1], false, none)
    %5: bf16[3] strides [1] = _to_copy(%4, :bf16, none, none, none, false, none)
  )");
  const at::Tensor x = at::randn({3, 4});
  QVERIFY(at::equal(run(graph, {x})[5], at::gelu(at::mm(x, x.t()), "tanh").sum(-1).to(at::kBFloat16)));
}

void TestReplayOfACall::takesListsAndAbsentTensors() {
  const ir::Graph graph = ir::parse(R"(
    input %0: f32[3, 4] strides [4, 1]
    input %1: i64[2] strides [1]
    %2: f32[6, 4] strides [4, 1] = cat({%0, %0}, 0)
    %3: f32[6, 2] strides [2, 1] = index.Tensor(%2, {_, %1})
    %4: f32[6, 2] strides [2, 1], %5: f32[6, 1] strides [1, 1], %6: f32[6, 1] strides [1, 1] = native_layer_norm(%3, [2], _, _, 1e-05)
    %7: f32[3, 2] strides [2, 1], %8: f32[3, 2] strides [2, 1] = split.Tensor(%4, 3, 0)
  )");
  const at::Tensor x = at::randn({3, 4}), at_columns = at::tensor({3, 1});
  const at::Tensor expected = at::layer_norm(at::cat({x, x}).index({at::indexing::Slice(), at_columns}), {2});
  const auto values = run(graph, {x, at_columns});
  QVERIFY(at::equal(values[7], expected.slice(0, 0, 3)));
  QVERIFY(at::equal(values[8], expected.slice(0, 3)));
}

void TestReplayOfACall::viewsShareMemory() {
  const ir::Graph graph = ir::parse(R"(
    input %0: f32[3, 4] strides [4, 1]
    %1: f32[12] strides [1] = view(%0, [12])
  )");
  const at::Tensor x = at::randn({3, 4});
  QVERIFY(run(graph, {x})[1].is_alias_of(x));
}

void TestReplayOfACall::resultsHaveTheStridesOfTheGraph() {
  // neg keeps the order of its operand's dimensions; a recording of another order asks for a copy.
  const ir::Graph graph = ir::parse(R"(
    input %0: f32[3, 4] strides [4, 1]
    %1: f32[3, 4] strides [1, 3] = neg(%0)
  )");
  const at::Tensor x = at::randn({3, 4}), y = run(graph, {x})[1];
  QCOMPARE(y.strides().vec(), (std::vector<std::int64_t>{1, 3}));
  QVERIFY(at::equal(y, -x));
}

void TestReplayOfACall::aResultOfAnotherSizeIsAnError() {
  const ir::Graph graph = ir::parse(R"(
    input %0: f32[3, 4] strides [4, 1]
    %1: f32[3, 4] strides [4, 1] = neg(%0)
  )");
  const QString error = error_of([&] { run(graph, {at::randn({2, 4})}); });
  QVERIFY2(error.contains("'neg' gave Float[2, 4], the recording has Float[3, 4]"), qPrintable(error));
}

void TestReplayOfACall::runsBelowAutogradAndAutocast() {
  const ir::Graph graph = ir::parse(R"(
    input %0: f32[3, 3] strides [3, 1]
    %1: f32[3, 3] strides [3, 1] = mm(%0, %0)
  )");
  at::Tensor x = at::randn({3, 3}).requires_grad_(true);
  at::autocast::set_autocast_enabled(at::kCPU, true);
  const at::Tensor y = run(graph, {x})[1];
  at::autocast::set_autocast_enabled(at::kCPU, false);
  at::autocast::clear_cache();
  QVERIFY(!y.requires_grad());
  QCOMPARE(y.scalar_type(), at::kFloat);
}

void TestReplayOfACall::symbolsAreEvaluated() {
  const ir::Graph graph = ir::parse(R"(
    symbol s0: input_dim %0 dim 0 hint 4 min 2
    input %0: f32[s0, 6] strides [6, 1]
    %1: f32[2*s0, 3] strides [3, 1] = view(%0, [2*s0, 3])
    %2: f32[s0, 3] strides [3, 1] = slice.Tensor(%1, 0, s0, 9223372036854775807, 1)
  )");
  const at::Tensor x = at::randn({5, 6});
  QVERIFY(at::equal(run(graph, {x})[2], x.view({10, 3}).slice(0, 5)));
}

void TestReplayOfACall::sizesOfDataAreEvaluatedWhenTheyAreKnown() {
  const ir::Graph graph = ir::parse(R"(
    symbol s0: data %1 dim 0 hint 2 min 0
    input %0: i64[5] strides [1]
    %1: i64[s0, 1] strides [1, s0] = nonzero(%0)
    %2: f32[s0, 2] strides [2, 1] = ones([s0, 2], :f32, none, none, none)
  )");
  std::vector<at::Tensor> values(graph.values.size());
  values[0] = at::tensor({1, 0, 2, 3, 0});
  aten::SymbolValues symbols = aten::symbol_values(graph, values);
  QVERIFY(symbols.late.at(0));
  const aten::Call nonzero(graph, graph.nodes[0], symbols), ones(graph, graph.nodes[1], symbols);
  const aten::BelowAutograd below;
  torch::jit::Stack stack;
  nonzero.run(values, symbols.values, stack);
  symbols.values[0] = values[1].size(0);
  ones.run(values, symbols.values, stack);
  QVERIFY(at::equal(values[2], at::ones({3, 2})));
}

void TestReplayOfACall::writingOperatorsWorkOnCopies() {
  const ir::Graph graph = ir::parse(R"(
    input %0: f32[3] strides [1]
    input %1: f32[3] strides [1]
    %2: f32[3] strides [1] = lathe::functional::add_.Tensor(%0, %1, 2)
    %3: f32[3] strides [1], %4: f32[3] strides [1] = lathe::functional::_foreach_mul_.Scalar({%0, %1}, 3.0)
  )");
  const at::Tensor x = at::randn({3}), y = at::randn({3}), x_before = x.clone();
  const auto values = run(graph, {x, y});
  QVERIFY(at::equal(x, x_before));
  QVERIFY(at::equal(values[2], x + y * 2));
  QVERIFY(at::equal(values[3], x * 3));
  QVERIFY(at::equal(values[4], y * 3));
}

void TestReplayOfACall::wrappedNumbersTakeNoPartInTypePromotion() {
  const ir::Graph graph = ir::parse(R"(
    input %0: bf16[3] strides [1]
    %1: f64[] strides [] = lathe::wrapped_number(0.1, :f64)
    %2: bf16[3] strides [1] = mul.Tensor(%0, %1)
  )");
  const at::Tensor x = at::randn({3}).to(at::kBFloat16);
  QVERIFY(at::equal(run(graph, {x})[2], x * 0.1));
}

void TestReplayOfACall::readsAreHandedOut() {
  const ir::Graph graph = ir::parse(R"(
    input %0: bool[] strides []
    = _local_scalar_dense(%0) read boolean 1.0
  )");
  std::vector<at::Tensor> values = {at::scalar_tensor(true, at::kBool)};
  const aten::Call call(graph, graph.nodes[0], {});
  const aten::BelowAutograd below;
  torch::jit::Stack stack;
  QCOMPARE(call.run(values, {}, stack), std::optional<double>(1.0));
}

void TestReplayOfACall::whatFitsNoOperatorIsAnError_data() {
  QTest::addColumn<QString>("call");
  QTest::addColumn<QString>("reason");
  QTest::newRow("unknown") << "frobnicate(%0)"
                           << "no operator 'frobnicate'";
  QTest::newRow("too few operands") << "mm(%0)"
                                    << "has 1 operands, its schema 2";
  QTest::newRow("writes") << "add_.Tensor(%0, %0, 1)"
                          << "writes an operand";
  QTest::newRow("number for tensor") << "mm(%0, 3)"
                                     << "does not fit its type";
  QTest::newRow("tensor for number") << "view(%0, %0)"
                                     << "does not fit its type";
}

void TestReplayOfACall::whatFitsNoOperatorIsAnError() {
  QFETCH(QString, call);
  QFETCH(QString, reason);
  const ir::Graph graph =
      ir::parse("input %0: f32[3, 3] strides [3, 1]\n%1: f32[3, 3] strides [3, 1] = " + call.toStdString() + "\n");
  const QString error = error_of([&] { aten::Call(graph, graph.nodes[0], {}); });
  QVERIFY2(error.contains(reason), qPrintable(error));
}

LATHE_TEST(TestReplayOfACall);
#include "replay_test.moc"
