#include "core/compile/runtime/guard.h"

#include <chrono>

#include <ATen/ATen.h>
#include <ATen/autocast_mode.h>
#include <ATen/core/grad_mode.h>

#include "core/compile/ir/text.h"
#include "core/compile/runtime/block_node.h"
#include "tests/core/compile/runtime/replayed_blocks.h"
#include "tests/support/blocks.h"
#include "tests/support/test_main.h"

using namespace lathe;
using models::Tensors;
using runtime::Guard;

class TestGuard : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void holdsForOtherTensorsOfTheSameKind();
  void changesAreNamed_data();
  void changesAreNamed();
  void settingsAreNamed_data();
  void settingsAreNamed();
  void whatDoesNotMatterMayChange();
  void stridesOfDimensionsOfOneDoNotMatter();
  void sharedMemoryIsAPattern();
  void aConstantThatWasWrittenNoLongerServes();
  void symbolicSizesServeWhateverFits();
  void whereItMattersThePlaceInMemoryIsHeld();
  void manyTensorsTakeAboutAMicrosecond();
  void aCompiledCallAddsLittle();
};

namespace {

struct Given {
  std::string structure = "block";
  Tensors inputs, parameters;
};

Given given() {
  return {.inputs = {at::ones({4, 6}).requires_grad_(true), at::ones({4, 6}), at::Tensor()},
          .parameters = {at::ones({6, 6}).requires_grad_(true), at::ones({6})}};
}

const char* const kText = R"(
  input %0: f32[4, 6] strides [6, 1]
  input %1: f32[4, 6] strides [6, 1]
  parameter %2: f32[6, 6] strides [6, 1]
  parameter %3: f32[6] strides [1]
)";

aten::BlockGraph graph(const std::string& text = kText) {
  return {.graph = ir::parse(text), .inputs = {0, 1}, .parameters = {0, 1}};
}

Guard guard_of(const Given& tensors, const aten::BlockGraph& block = graph()) {
  return Guard(block, tensors.structure, tensors.inputs, tensors.parameters);
}

QString why_not(const Guard& guard, const Given& now) {
  const auto reason = guard.why_not(now.structure, now.inputs, now.parameters);
  const bool holds = guard.holds(now.structure, now.inputs, now.parameters);
  if (holds != !reason) return "holds() and why_not() disagree";
  return reason ? QString::fromStdString(reason->english()) : QString();
}

using Change = std::function<void(Given&)>;

const std::vector<std::pair<const char*, Change>>& changes() {
  static const std::vector<std::pair<const char*, Change>> all = {
      {"the block's structure: block → other", [](Given& g) { g.structure = "other"; }},
      {"number of tensors: 5 → 4", [](Given& g) { g.parameters.pop_back(); }},
      {"input 2: given: no → yes", [](Given& g) { g.inputs[2] = at::ones({1}); }},
      {"input 1: given: yes → no", [](Given& g) { g.inputs[1] = at::Tensor(); }},
      {"input 1: dtype Float → BFloat16", [](Given& g) { g.inputs[1] = g.inputs[1].to(at::kBFloat16); }},
      {"parameter 1: device cpu → meta", [](Given& g) { g.parameters[1] = g.parameters[1].to(at::kMeta); }},
      {"input 1: needs a gradient: no → yes", [](Given& g) { g.inputs[1].requires_grad_(true); }},
      {"parameter 0: needs a gradient: yes → no", [](Given& g) { g.parameters[0].requires_grad_(false); }},
      {"input 1: number of dimensions 2 → 3",
       [](Given& g) {
         g.inputs[1] = at::ones({4, 6, 1});
       }},
      {"input 1: size of dimension 0: 4 → 5",
       [](Given& g) {
         g.inputs[1] = at::ones({5, 6});
       }},
      {"parameter 1: size of dimension 0: 6 → 7", [](Given& g) { g.parameters[1] = at::ones({7}); }},
      {"input 1: stride of dimension 0: 6 → 1",
       [](Given& g) {
         g.inputs[1] = at::ones({6, 4}).t();
       }},
      {"input 1: shares memory with another tensor than before", [](Given& g) { g.inputs[1] = g.inputs[0].detach(); }},
      {"parameter 1: shares memory with another tensor than before",
       [](Given& g) { g.parameters[1] = g.parameters[0].detach().select(0, 0); }},
  };
  return all;
}

struct Setting {
  const char* reason;
  std::function<void(bool on)> set;
};

const std::vector<Setting>& settings() {
  static const std::vector<Setting> all = {
      {"gradients recorded: yes → no", [](bool on) { at::GradMode::set_enabled(!on); }},
      {"autocast: off → cpu BFloat16", [](bool on) { at::autocast::set_autocast_enabled(at::kCPU, on); }},
      {"default dtype: Float → Double",
       [](bool on) { c10::set_default_dtype(c10::scalarTypeToTypeMeta(on ? at::kDouble : at::kFloat)); }},
      {"precision of matrix products: ",
       [](bool on) {
         at::globalContext().setFloat32MatmulPrecision(on ? at::Float32MatmulPrecision::MEDIUM
                                                          : at::Float32MatmulPrecision::HIGHEST);
       }},
      {"deterministic, cuDNN or attention settings: ",
       [](bool on) { at::globalContext().setDeterministicAlgorithms(on, false); }},
      {"deterministic, cuDNN or attention settings: ", [](bool on) { at::globalContext().setSDPUseFlash(!on); }},
  };
  return all;
}

// The least time of a call in microseconds: what others do on this machine only adds.
double microseconds(const std::function<void()>& action) {
  double best = 1e9;
  for (int round = 0; round < 20; ++round) {
    constexpr int kCalls = 200;
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < kCalls; ++i) action();
    const std::chrono::duration<double, std::micro> taken = std::chrono::steady_clock::now() - start;
    best = std::min(best, taken.count() / kCalls);
  }
  return best;
}

}  // namespace

void TestGuard::holdsForOtherTensorsOfTheSameKind() {
  QCOMPARE(why_not(guard_of(given()), given()), QString());
}

void TestGuard::changesAreNamed_data() {
  QTest::addColumn<int>("which");
  for (std::size_t i = 0; i < changes().size(); ++i) QTest::newRow(changes()[i].first) << static_cast<int>(i);
}

void TestGuard::changesAreNamed() {
  QFETCH(int, which);
  const auto& [reason, change] = changes()[static_cast<std::size_t>(which)];
  Given now = given();
  change(now);
  QCOMPARE(why_not(guard_of(given()), now), QString::fromUtf8(reason));
}

void TestGuard::settingsAreNamed_data() {
  QTest::addColumn<int>("which");
  for (std::size_t i = 0; i < settings().size(); ++i)
    QTest::addRow("%d: %s", static_cast<int>(i), settings()[i].reason) << static_cast<int>(i);
}

void TestGuard::settingsAreNamed() {
  QFETCH(int, which);
  const Setting& setting = settings()[static_cast<std::size_t>(which)];
  const Guard guard = guard_of(given());
  const Given now = given();
  setting.set(true);
  const QString reason = why_not(guard, now);
  setting.set(false);
  QVERIFY2(reason.startsWith(QString::fromUtf8(setting.reason)), qPrintable(reason));
  QCOMPARE(why_not(guard, now), QString());
}

void TestGuard::whatDoesNotMatterMayChange() {
  const Guard guard = guard_of(given());
  Given now = given();
  {
    const at::NoGradGuard no_gradient;
    now.parameters[0].add_(1);  // an optimizer's step
  }
  now.inputs[1] = at::ones({8, 6}).slice(0, 4);  // another place in its memory
  now.inputs[0].register_hook([](const at::Tensor& gradient) { return gradient; });
  at::manual_seed(99);
  const int threads = at::get_num_threads();
  at::set_num_threads(1);
  QCOMPARE(why_not(guard, now), QString());
  at::set_num_threads(threads);
}

void TestGuard::stridesOfDimensionsOfOneDoNotMatter() {
  const std::string text = "input %0: f32[1, 6] strides [6, 1]\ninput %1: f32[0, 6] strides [6, 1]\n";
  const aten::BlockGraph block = {.graph = ir::parse(text), .inputs = {0, 1}};
  const Guard guard = guard_of({.inputs = {at::ones({1, 6}), at::ones({0, 6})}}, block);
  QCOMPARE(why_not(guard, {.inputs = {at::ones({6, 1}).t(), at::ones({6, 0}).t()}}), QString());
}

void TestGuard::sharedMemoryIsAPattern() {
  Given shared = given();
  shared.inputs[1] = shared.inputs[0].detach();
  const Guard guard = guard_of(shared);
  QCOMPARE(why_not(guard, shared), QString());
  QCOMPARE(why_not(guard, given()), QString("input 1: shares memory with another tensor than before"));
  Given same = shared;
  same.inputs[0].requires_grad_(false);
  Given twice = same;
  twice.inputs[1] = twice.inputs[0];  // the very tensor, not another of its memory
  QVERIFY(!why_not(guard_of(same), twice).isEmpty());
}

void TestGuard::aConstantThatWasWrittenNoLongerServes() {
  aten::BlockGraph block = graph(std::string(kText) + "constant %4: f32[2] strides [1]\n");
  block.constants = {at::ones({2})};
  const Guard guard = guard_of(given(), block);
  QCOMPARE(why_not(guard, given()), QString());
  block.constants[0].add_(1);
  QCOMPARE(why_not(guard, given()), QString("tensor 0 that the block holds itself was written since"));
}

void TestGuard::symbolicSizesServeWhateverFits() {
  const aten::BlockGraph block = graph(R"(
    symbol s0: input_dim %0 dim 0 hint 4 min 2 max 9 multiple_of 2
    input %0: f32[s0, 6] strides [6, 1]
    input %1: f32[s0/2, 6] strides [1, s0/2]
    parameter %2: f32[6, 6] strides [6, 1]
    parameter %3: f32[6] strides [1]
  )");
  const auto of_rows = [](std::int64_t first, std::int64_t second) {
    Given result = given();
    result.inputs[0] = at::ones({first, 6}).requires_grad_(true);
    result.inputs[1] = at::ones({6, second}).t();
    return result;
  };
  const Guard guard = guard_of(of_rows(4, 2), block);
  QCOMPARE(why_not(guard, of_rows(4, 2)), QString());
  QCOMPARE(why_not(guard, of_rows(8, 4)), QString());
  QCOMPARE(why_not(guard, of_rows(2, 1)), QString());
  QCOMPARE(why_not(guard, of_rows(8, 3)), QString("input 1: size of dimension 0: 4 → 3"));
  QVERIFY(!why_not(guard, of_rows(5, 2)).isEmpty());   // not even
  QVERIFY(!why_not(guard, of_rows(12, 6)).isEmpty());  // too large
  QVERIFY(!why_not(guard, of_rows(0, 0)).isEmpty());   // too small
  Given transposed = of_rows(8, 4);
  transposed.inputs[1] = at::ones({4, 6});
  QCOMPARE(why_not(guard, transposed), QString("input 1: stride of dimension 0: 1 → 6"));
}

void TestGuard::whereItMattersThePlaceInMemoryIsHeld() {
  const aten::BlockGraph block = graph(std::string(kText) +
                                       "%4: f32[24] strides [1] = view(%1, [24])\n"
                                       "%5: f32[2] strides [1] = as_strided(%4, [2], [1], 3)\n");
  const Guard guard = guard_of(given(), block);
  Given moved = given();
  moved.inputs[1] = at::ones({8, 6}).slice(0, 4);
  QCOMPARE(why_not(guard, moved), QString("input 1: place in its memory 0 → 24"));
}

void TestGuard::manyTensorsTakeAboutAMicrosecond() {
  Tensors inputs, parameters;
  aten::BlockGraph block;
  for (int i = 0; i < 5; ++i) inputs.push_back(at::ones({2, 8, 8}));
  for (int i = 0; i < 40; ++i) parameters.push_back(at::ones({8, 8}).requires_grad_(i % 2 == 0));
  const Guard guard(block, "block", inputs, parameters);
  const double taken = microseconds([&] {
    if (!guard.holds("block", inputs, parameters)) qFatal("the guard does not hold");
  });
  qInfo("guard of 45 tensors: %.2f us", taken);
  QVERIFY(taken < 5.0);
}

void TestGuard::aCompiledCallAddsLittle() {
  Tensors parameters;
  for (int i = 0; i < 40; ++i) parameters.push_back(at::ones({8, 8}).requires_grad_(i % 2 == 1));
  const testing::FunctionBlock block(
      "f", parameters, [](std::span<const at::Tensor> in, const Tensors& p) { return Tensors{in[0] * p[1]}; });
  Tensors inputs = {at::ones({8, 8}).requires_grad_(true)};
  for (int i = 0; i < 4; ++i) inputs.push_back(at::ones({2, 8}));
  testing::ReplayedBlocks blocks;
  blocks.run(block, inputs);
  const auto artifact = blocks.last();
  const Guard guard(artifact->block(), "f", inputs, parameters);

  const double product = microseconds([&] { (void)(inputs[0] * parameters[1]); });
  const double call = microseconds([&] {
    if (!guard.holds("f", inputs, parameters)) qFatal("the guard does not hold");
    (void)runtime::run_block(artifact, inputs, parameters);
  });
  qInfo("guard and forward of a block with one product: %.2f us, the product alone, eager: %.2f us", call, product);
  QVERIFY(call - product < 20.0);
}

LATHE_TEST(TestGuard);
#include "guard_test.moc"
