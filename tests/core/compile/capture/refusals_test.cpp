#include <stdexcept>

#include <ATen/ATen.h>
#include <ATen/Context.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/csrc/autograd/variable.h>

#include "core/compile/capture/fallback.h"
#include "core/compile/capture/joint.h"
#include "tests/core/compile/capture/record.h"
#include "tests/support/test_main.h"

using namespace lathe;
using lathe::testing::BlockForward;
using lathe::testing::FunctionBlock;
using lathe::testing::record;
using models::Tensors;
using Inputs = std::span<const at::Tensor>;

class TestRefusals : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void saysWhy_data();
  void saysWhy();
  void aRefusedBlockLeavesItsBuffersAlone();
  void hooksOnParametersAreRefused();
  void aRecordingInsideARecordingIsRefused();
  void inferenceModeIsRefused();
  void theFallbackIsRegisteredOnce();
};

namespace {

// Its backward writes a buffer.
struct CountsBackwards : torch::autograd::Function<CountsBackwards> {
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& x, const at::Tensor& count) {
    context->saved_data["count"] = count;
    return x * 1;
  }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list gradients) {
    context->saved_data["count"].toTensor().add_(1);
    return {gradients[0], at::Tensor()};
  }
};

struct Case {
  const char* name;
  const char* reason;
  BlockForward forward;
};

const std::vector<Case>& cases() {
  static const at::Tensor foreign = at::ones({3}), foreign_trained = at::ones({3}).requires_grad_(true);
  static const std::vector<Case> all = {
      {"a real number is read", "a real number is read into C++ by '_local_scalar_dense'",
       [](Inputs in, const Tensors&) { return Tensors{in[0].min().item<float>() < 0 ? in[0] * 2 : in[0]}; }},
      {"a trained tensor that is no parameter", "needs a gradient and is neither its input nor its parameter",
       [](Inputs in, const Tensors&) { return Tensors{in[0] * foreign_trained}; }},
      {"a foreign tensor is written", "writes into a tensor that it was not given",
       [](Inputs in, const Tensors&) {
         at::Tensor own = foreign;
         own.add_(1);
         return Tensors{in[0] * own};
       }},
      {"memory that two inputs share is written", "shares its memory with another",
       [](Inputs in, const Tensors&) {
         at::Tensor own = in[1];
         own.add_(1);
         return Tensors{in[0] * in[2]};
       }},
      {"the random state is set", "sets the state of the random generator",
       [](Inputs in, const Tensors&) {
         at::manual_seed(3);
         return Tensors{in[0] * at::rand({3})};
       }},
      {"memory is resized", "gives a tensor other memory",
       [](Inputs in, const Tensors&) {
         at::Tensor y = at::zeros({3});
         y.resize_({5});
         return Tensors{in[0] * y.slice(0, 0, 3)};
       }},
      {"complex numbers", "dtype ComplexFloat takes part",
       [](Inputs in, const Tensors&) { return Tensors{at::real(at::complex(in[0], in[0]))}; }},
      {"a sparse tensor", "takes part",
       [](Inputs in, const Tensors&) { return Tensors{at::eye(3).to_sparse().matmul(in[0].unsqueeze(1))}; }},
      {"a generator of its own", "an argument 'generator' of type",
       [](Inputs in, const Tensors&) {
         return Tensors{in[0] * at::rand({3}, at::globalContext().defaultGenerator(at::kCPU))};
       }},
      {"the block throws", "the block fails while it is recorded: no such luck",
       [](Inputs, const Tensors&) -> Tensors { throw std::runtime_error("no such luck"); }},
      {"the backward writes a buffer", "the backward writes into an input or a buffer",
       [](Inputs in, const Tensors& p) { return Tensors{CountsBackwards::apply(in[0], p[1])}; }},
      {"a value that needs a gradient is written into an input", "writes a value that needs a gradient into its input",
       [](Inputs in, const Tensors&) {
         at::Tensor own = in[3];
         own.add_(in[0]);
         return Tensors{in[0] * 2};
       }},
      {"outputs overlap and none holds the others", "outputs of the block overlap in memory",
       [](Inputs in, const Tensors&) {
         const at::Tensor y = in[0] * 2;
         return Tensors{y.slice(0, 0, 2), y.slice(0, 1, 3)};
       }},
  };
  return all;
}

}  // namespace

void TestRefusals::saysWhy_data() {
  QTest::addColumn<int>("which");
  for (std::size_t i = 0; i < cases().size(); ++i) QTest::newRow(cases()[i].name) << static_cast<int>(i);
}

void TestRefusals::saysWhy() {
  QFETCH(int, which);
  const Case& example = cases()[static_cast<std::size_t>(which)];
  const at::Tensor shared = at::ones({4});
  const Tensors inputs = {at::randn({3}).requires_grad_(true), shared.slice(0, 0, 3), shared.slice(0, 1, 4),
                          at::randn({3})};
  const FunctionBlock block("f", {at::ones({3}).requires_grad_(true), at::zeros({})}, example.forward);
  const auto recording = record(block, inputs);
  QVERIFY(recording.refused.has_value());
  QVERIFY2(recording.refused->find(example.reason) != std::string::npos, recording.refused->c_str());
  QVERIFY(recording.block.graph.nodes.empty());
  QVERIFY(!capture::recording());
}

void TestRefusals::aRefusedBlockLeavesItsBuffersAlone() {
  const at::Tensor before = at::zeros({}), after = at::zeros({});
  const FunctionBlock block("f", {before, after}, [](Inputs in, const Tensors& p) {
    at::Tensor first = p[0], second = p[1];
    first.add_(1);
    const bool negative = in[0].min().item<float>() < 0;
    first.mul_(2);  // these calls are no longer recorded
    second.add_(1);
    return Tensors{negative ? in[0] : in[0] * first};
  });
  QVERIFY(record(block, Tensors{at::randn({3})}).refused);
  QCOMPARE(before.item<float>(), 0.0F);
  QCOMPARE(after.item<float>(), 0.0F);
}

void TestRefusals::hooksOnParametersAreRefused() {
  const at::Tensor weight = at::ones({3}).requires_grad_(true);
  int calls = 0;
  weight.register_hook([&calls](const at::Tensor& gradient) {
    ++calls;
    return gradient;
  });
  const FunctionBlock block("f", {weight}, [](Inputs in, const Tensors& p) { return Tensors{in[0] * p[0]}; });
  const auto recording = record(block, Tensors{at::randn({3})});
  QVERIFY(recording.refused && recording.refused->find("tensor hook") != std::string::npos);
  QCOMPARE(calls, 0);
}

void TestRefusals::aRecordingInsideARecordingIsRefused() {
  const FunctionBlock inner("inner", {}, [](Inputs in, const Tensors&) { return Tensors{in[0] * 2}; });
  std::optional<std::string> reason;
  const FunctionBlock outer("outer", {}, [&](Inputs in, const Tensors&) {
    reason = record(inner, in).refused;
    return inner.forward(in);
  });
  const auto recording = record(outer, Tensors{at::randn({3}).requires_grad_(true)});
  QVERIFY(reason && reason->find("inside one that is being recorded") != std::string::npos);
  QVERIFY2(!recording.refused, recording.refused.value_or("").c_str());
  QCOMPARE(testing::operators(recording.block.graph, false), (std::vector<std::string>{"mul.Scalar"}));
}

void TestRefusals::inferenceModeIsRefused() {
  const FunctionBlock block("f", {}, [](Inputs in, const Tensors&) { return Tensors{in[0] * 2}; });
  at::Tensor made_there;
  {
    const c10::InferenceMode inference;
    made_there = at::ones({3});
    QVERIFY(record(block, Tensors{made_there}).refused->find("inference mode is on") != std::string::npos);
  }
  QVERIFY(record(block, Tensors{made_there}).refused->find("made in inference mode") != std::string::npos);
}

void TestRefusals::theFallbackIsRegisteredOnce() {
  QVERIFY(!capture::why_unavailable());
  QVERIFY(!capture::why_unavailable());
  QVERIFY(c10::Dispatcher::singleton().hasBackendFallbackForDispatchKey(c10::DispatchKey::Fake));
}

LATHE_TEST(TestRefusals);
#include "refusals_test.moc"
