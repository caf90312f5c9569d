#include "core/compile/capture/differs.h"

#include <ATen/ATen.h>

#include "tests/core/compile/capture/record.h"
#include "tests/support/test_main.h"

using namespace lathe;
using lathe::testing::FunctionBlock;
using lathe::testing::record;
using models::Tensors;
using Inputs = std::span<const at::Tensor>;

class TestDiffers : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void equalBlocksDoNotDiffer();
  void hiddenStateShows();
  void aBranchOnASizeShowsAtItsFirstSize();
  void sizesAreEvaluatedBeforeTheyAreCompared();
  void namesWhatDiffers_data();
  void namesWhatDiffers();
};

namespace {

FunctionBlock scaled(double scale) {
  at::manual_seed(1);
  return FunctionBlock("scaled", {at::randn({6, 6}).requires_grad_(true)},
                       [scale](Inputs in, const Tensors& p) { return Tensors{at::mm(in[0], p[0]) * scale}; });
}

ir::Graph graph_of(const FunctionBlock& block, std::int64_t rows) {
  return record(block, Tensors{at::randn({rows, 6}).requires_grad_(true)}).block.graph;
}

}  // namespace

void TestDiffers::equalBlocksDoNotDiffer() {
  const auto difference = capture::differs(graph_of(scaled(0.25), 4), {}, graph_of(scaled(0.25), 4));
  QVERIFY2(!difference, difference.value_or("").c_str());
}

void TestDiffers::hiddenStateShows() {
  const auto difference = capture::differs(graph_of(scaled(0.25), 4), {}, graph_of(scaled(0.5), 4));
  QCOMPARE(QString::fromStdString(difference.value_or("")),
           QString("call 1, operand 1: mul.Scalar(0.25) → mul.Scalar(0.5)"));
}

void TestDiffers::aBranchOnASizeShowsAtItsFirstSize() {
  const FunctionBlock block("branch", {}, [](Inputs in, const Tensors&) {
    const at::Tensor y = at::tanh(in[0]);
    return Tensors{in[0].size(0) > 30 ? at::exp(y) : y};
  });
  // What recordings at small sizes predict for any size.
  ir::Graph predicted = graph_of(block, 7);
  const ir::Size rows = ir::Size::symbol(0);
  predicted.symbols.push_back({.value = predicted.inputs[0], .dim = 0, .hint = 7});
  for (ir::Value& value : predicted.values) value.sizes.at(0) = rows;

  const std::vector<std::int64_t> twenty = {20}, forty = {40};
  const auto below = capture::differs(predicted, twenty, graph_of(block, 20));
  QVERIFY2(!below, below.value_or("").c_str());
  const auto above = capture::differs(predicted, forty, graph_of(block, 40));
  QVERIFY(above.has_value());
}

void TestDiffers::sizesAreEvaluatedBeforeTheyAreCompared() {
  const char* const symbolic = R"(
    symbol s0: input_dim %0 dim 0 hint 3 min 2
    input %0: f32[s0, 2] strides [2, 1]
    %1: f32[2*s0] strides [1] = view(%0, [2*s0])
    output %1
  )";
  const char* const plain = R"(
    input %0: f32[5, 2] strides [2, 1]
    %1: f32[10] strides [1] = view(%0, [10])
    output %1
  )";
  const std::vector<std::int64_t> five = {5}, six = {6};
  QVERIFY(!capture::differs(ir::parse(symbolic), five, ir::parse(plain)));
  QCOMPARE(QString::fromStdString(capture::differs(ir::parse(symbolic), six, ir::parse(plain)).value_or("")),
           QString("call 0, operand 1: view([12]) → view([10])"));
}

void TestDiffers::namesWhatDiffers_data() {
  QTest::addColumn<QString>("seen");
  QTest::addColumn<QString>("difference");
  const QString input = "input %0: f32[2] strides [1]\n";
  QTest::newRow("operator") << input + "%1: f32[2] strides [1] = exp(%0)\noutput %1\n"
                            << "call 0: neg → exp";
  QTest::newRow("dtype") << input + "%1: bf16[2] strides [1] = neg(%0)\noutput %1\n"
                         << "call 0 (neg): its result has another dtype, size or stride";
  QTest::newRow("more calls") << input +
                                     "%1: f32[2] strides [1] = neg(%0)\n%2: f32[2] strides [1] = neg(%0)\noutput %1\n"
                              << "1 → 2 calls";
  QTest::newRow("output") << input + "%1: f32[2] strides [1] = neg(%0)\noutput %0\n"
                          << "the outputs are other values";
  QTest::newRow("write") << input + "%1: f32[2] strides [1] = neg(%0)\noutput %1\nwrite_back %0 from %1\n"
                         << "other tensors are written";
  QTest::newRow("constant") << input + "constant %2: f32[2] strides [1]\n%1: f32[2] strides [1] = neg(%0)\noutput %1\n"
                            << "0 → 1 foreign tensors";
  QTest::newRow("read") << input + "%1: f32[2] strides [1] = neg(%0) read boolean 1.0\noutput %1\n"
                        << "call 0 (neg): other results";
}

void TestDiffers::namesWhatDiffers() {
  QFETCH(QString, seen);
  QFETCH(QString, difference);
  const ir::Graph predicted = ir::parse("input %0: f32[2] strides [1]\n%1: f32[2] strides [1] = neg(%0)\noutput %1\n");
  QCOMPARE(QString::fromStdString(capture::differs(predicted, {}, ir::parse(seen.toStdString())).value_or("")),
           difference);
}

LATHE_TEST(TestDiffers);
#include "differs_test.moc"
