#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/autograd.h>

#include "core/models/anima/dit_sizes.h"
#include "core/models/anima/llm_adapter.h"
#include "tests/core/models/anima/golden_cases.h"
#include "tests/support/tensor_check.h"
#include "tests/support/test_main.h"

using namespace lathe::models;
using namespace lathe::models::anima;
using namespace lathe::testing;

class TestGoldenLlmAdapter : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void initTestCase();
  void firstBlockAndOutput();
  void fullyMaskedSamplesHaveFiniteGradients();
  void onePercentOnAnyWeightIsSeen();

 private:
  at::Tensor run(LlmAdapter& adapter) const;

  TensorMap golden_;
  DitInputs inputs_;
  DitSizes sizes_;
  StateDict weights_;
};

namespace {

constexpr double kTolerance = 5e-6;

// The adapter alone, with its weights.
struct Loaded {
  LlmAdapter adapter;
  std::vector<WeightSection> sections;

  Loaded(const DitSizes& sizes, StateDict weights) : adapter(sizes, at::kFloat, at::kCPU) {
    adapter.append_sections("net.llm_adapter.", sections);
    for (const WeightSection& section : sections) {
      section.table->load(weights, section.prefix, at::kFloat, at::kCPU);
    }
  }
};

}  // namespace

void TestGoldenLlmAdapter::initTestCase() {
  LATHE_NEEDS_GOLDEN("anima/tiny_dit.safetensors");
  LATHE_NEEDS_GOLDEN("anima/llm_adapter.safetensors");
  golden_ = golden_tensors("anima/llm_adapter.safetensors");
  inputs_ = inputs_of(golden_);
  sizes_ = Dit::load(golden_model(), {})->sizes();
  weights_ = StateDict::load(golden_model(), [](const std::string& key) { return key; });
}

at::Tensor TestGoldenLlmAdapter::run(LlmAdapter& adapter) const {
  return adapter.forward(inputs_.text, inputs_.t5_ids, inputs_.t5_mask, inputs_.text_mask);
}

void TestGoldenLlmAdapter::firstBlockAndOutput() {
  const at::NoGradGuard no_grad;
  Loaded loaded(sizes_, weights_);
  LATHE_CLOSE(run(loaded.adapter), golden_.at("out_raw"), kTolerance);

  const auto model = Dit::load(golden_model(), {});
  LATHE_CLOSE(model->adapt_text(inputs_), golden_.at("out"), kTolerance);
  QCOMPARE(model->adapter_blocks().size(), static_cast<std::size_t>(sizes_.adapter_blocks));

  const SequenceAngles angles(sizes_.adapter_width / sizes_.adapter_heads, at::kFloat, at::kCPU);
  const Rotation target = rotation(angles.table(inputs_.t5_ids.size(1)));
  const Rotation source = rotation(angles.table(inputs_.text.size(1)));
  const KeyMask targets = KeyMask::from(inputs_.t5_mask), sources = KeyMask::from(inputs_.text_mask);
  const at::Tensor embedded =
      at::embedding(weights_.take("net.llm_adapter.embed.weight", {-1, -1}, at::kFloat, at::kCPU), inputs_.t5_ids);
  const Tensors first = model->adapter_blocks()[0]->forward(
      std::vector<at::Tensor>{embedded, inputs_.text, target.cos, target.sin, source.cos, source.sin, targets.allowed,
                              targets.dead, sources.allowed, sources.dead});
  LATHE_CLOSE(first[0], golden_.at("block0"), kTolerance);
}

void TestGoldenLlmAdapter::fullyMaskedSamplesHaveFiniteGradients() {
  const at::Tensor dead = inputs_.text_mask.ne(0).any(1).logical_not();
  QVERIFY2(dead.any().item<bool>(), "the golden holds no sample without text");
  Loaded loaded(sizes_, weights_);
  const at::Tensor text = inputs_.text.clone().set_requires_grad(true);
  const at::Tensor out = loaded.adapter.forward(text, inputs_.t5_ids, inputs_.t5_mask, inputs_.text_mask);
  const at::Tensor gradient = torch::autograd::grad({out.square().sum()}, {text})[0];
  QVERIFY(gradient.isfinite().all().item<bool>());
  QVERIFY(gradient.index({dead}).eq(0).all().item<bool>());
  QVERIFY(gradient.abs().sum().item<double>() > 0.0);
}

void TestGoldenLlmAdapter::onePercentOnAnyWeightIsSeen() {
  const at::NoGradGuard no_grad;
  Loaded loaded(sizes_, weights_);
  NamedTensors all;
  for (const WeightSection& section : loaded.sections) section.table->append_state(section.prefix, all);
  for (auto& [key, tensor] : all) {
    const at::Tensor before = tensor.detach();
    tensor.set_data(one_percent_off(before));
    const double difference = relative_difference(run(loaded.adapter), golden_.at("out_raw"));
    QVERIFY2(difference > kTolerance, qPrintable(QString::fromStdString(key)));
    tensor.set_data(before);
  }
}

LATHE_TEST(TestGoldenLlmAdapter);
#include "golden_llm_adapter_test.moc"
