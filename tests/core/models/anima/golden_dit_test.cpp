#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/autograd.h>

#include "core/models/adapters/lora.h"
#include "core/models/anima/dit_block.h"
#include "core/models/anima/dit_model.h"
#include "core/models/anima/patch.h"
#include "tests/core/models/anima/golden_cases.h"
#include "tests/support/tensor_check.h"
#include "tests/support/test_main.h"

using namespace lathe::models;
using namespace lathe::models::anima;
using namespace lathe::testing;

// Outputs, what lies between, and gradients of the reference's own transformer. Tolerances of the goldens: several
// times what the reference itself moves with other kernels.
class TestGoldenDit : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void outputs_data() { addCases(); }
  void outputs();
  void whatLiesBetween_data() { addCases(); }
  void whatLiesBetween();
  void gradients_data() { addCases(); }
  void gradients();
  void splitAttentionCutsTheTextAsTheReferenceDoes_data() { addCases(); }
  void splitAttentionCutsTheTextAsTheReferenceDoes();
  void onePercentOnAnyWeightIsSeen();

 private:
  static void addCases();
};

namespace {

constexpr double kOutputTolerance = 5e-6, kGradientTolerance = 2e-5;

struct Case {
  TensorMap golden;
  DitInputs inputs;
  std::unique_ptr<Dit> model;
  std::unique_ptr<LoraNetwork> lora;  // before the model goes: it detaches

  Case(const std::string& name, bool with_lora, Attention attention = Attention::torch)
      : golden(golden_tensors("anima/" + name + ".safetensors")),
        inputs(inputs_of(golden)),
        model(Dit::load(golden_model(), {.attention = attention})) {
    if (with_lora) attach();
  }
  void attach() {
    lora = LoraNetwork::from_weights(model->linears(), "lora_unet", golden_lora());
    if (!lora->load(golden_lora()).empty()) qFatal("the golden adapter does not fit the golden model");
  }
  bool has(const std::string& name) const { return golden.count(name) != 0; }
};

// The files that hold an output without adapter too hold the rest with it.
bool is_with_lora(const TensorMap& golden) {
  return golden.count("out_base") != 0;
}

}  // namespace

void TestGoldenDit::addCases() {
  LATHE_NEEDS_GOLDEN("anima/tiny_dit.safetensors");
  LATHE_NEEDS_GOLDEN("anima/tiny_lora.safetensors");
  QTest::addColumn<QString>("name");
  for (const std::string& name : golden_cases("dit_")) QTest::newRow(name.c_str()) << QString::fromStdString(name);
}

void TestGoldenDit::outputs() {
  QFETCH(QString, name);
  Case c(name.toStdString(), false);
  const at::NoGradGuard no_grad;
  if (!is_with_lora(c.golden)) {
    LATHE_CLOSE(c.model->forward(c.inputs), c.golden.at("out"), kOutputTolerance);
    return;
  }
  LATHE_CLOSE(c.model->forward(c.inputs), c.golden.at("out_base"), kOutputTolerance);
  c.attach();
  LATHE_CLOSE(c.model->forward(c.inputs), c.golden.at("out"), kOutputTolerance);
  c.lora.reset();
  LATHE_CLOSE(c.model->forward(c.inputs), c.golden.at("out_base"), kOutputTolerance);
}

void TestGoldenDit::whatLiesBetween() {
  QFETCH(QString, name);
  Case c(name.toStdString(), true);
  if (!c.has("inter.block_first")) QSKIP("this file holds outputs alone");
  const at::NoGradGuard no_grad;
  TensorMap seen;
  const int last = static_cast<int>(c.model->blocks().size()) - 1;
  const auto run_block = [&](const Block& block, int index, std::span<const at::Tensor> inputs) {
    if (index == 0) {
      seen["inter.x_embedder"] = inputs[DitBlock::kX];
      seen["inter.t_embedding_norm"] = inputs[DitBlock::kE];
      seen["inter.t_embedder_adaln"] = inputs[DitBlock::kM];
      seen["context"] = inputs[DitBlock::kContext];
    }
    Tensors outputs = block.forward(inputs);
    if (index == 0) seen["inter.block_first"] = outputs[0];
    if (index == last) seen["inter.block_last"] = outputs[0];
    return outputs;
  };
  const at::Tensor out = c.model->forward(c.inputs, run_block);
  for (const std::string key : {"inter.x_embedder", "inter.t_embedding_norm", "inter.t_embedder_adaln",
                                "inter.block_first", "inter.block_last"}) {
    LATHE_CLOSE(seen[key], c.golden.at(key), kOutputTolerance);
  }
  LATHE_CLOSE(out, unpatchify(c.golden.at("inter.final_layer")), kOutputTolerance);

  const at::Tensor kept = c.inputs.t5_mask.ne(0).unsqueeze(-1);
  QVERIFY(seen["context"].masked_select(kept.logical_not()).eq(0).all().item<bool>());
  LATHE_CLOSE(seen["context"], c.golden.at("inter.adapter_raw") * kept, kOutputTolerance);

  const DitSizes& sizes = c.model->sizes();
  const ImageAngles angles(sizes.head_size,
                           {sizes.rope_t_extrapolation, sizes.rope_h_extrapolation, sizes.rope_w_extrapolation},
                           at::kFloat, at::kCPU);
  const at::Tensor table = angles.table(1, c.inputs.x.size(2) / kPatch, c.inputs.x.size(3) / kPatch);
  LATHE_CLOSE(table.view_as(c.golden.at("inter.rope")), c.golden.at("inter.rope"), kOutputTolerance);

  TimestepEmbedding embedding(sizes.width, at::kCPU);
  StateDict weights;
  for (const auto& [key, tensor] : c.model->state()) weights.put(key, tensor);
  embedding.linears.load(weights, "t_embedder.1.", at::kFloat, at::kCPU);
  embedding.norm.load(weights, "t_embedding_norm.", at::kFloat, at::kCPU);
  LATHE_CLOSE(embedding.forward(c.inputs.timesteps).sinusoid, c.golden.at("inter.t_embedder"), kOutputTolerance);
}

void TestGoldenDit::gradients() {
  QFETCH(QString, name);
  Case c(name.toStdString(), true);
  if (!c.has("grad.x")) QSKIP("this file holds outputs alone");

  std::vector<std::pair<std::string, at::Tensor>> leaves = {
      {"grad.x", c.inputs.x.set_requires_grad(true)},
      {"grad.prompt_embeds", c.inputs.text.set_requires_grad(true)},
      {"grad.timesteps", c.inputs.timesteps.set_requires_grad(true)}};
  for (const auto& [key, tensor] : c.lora->state()) {
    if (c.has("grad.lora." + key)) leaves.emplace_back("grad.lora." + key, tensor);
  }
  QCOMPARE(leaves.size(), c.lora->parameters().size() + 3);

  std::vector<at::Tensor> tensors;
  for (const auto& [key, tensor] : leaves) tensors.push_back(tensor);
  const at::Tensor total = (c.model->forward(c.inputs) * c.golden.at("in.grad_out")).sum();
  const std::vector<at::Tensor> gradients = torch::autograd::grad({total}, tensors);
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    const double difference = relative_difference(gradients[i], c.golden.at(leaves[i].first));
    QVERIFY2(difference <= kGradientTolerance,
             qPrintable(QStringLiteral("%1: off by %2").arg(QString::fromStdString(leaves[i].first)).arg(difference)));
  }
}

void TestGoldenDit::splitAttentionCutsTheTextAsTheReferenceDoes() {
  QFETCH(QString, name);
  Case c(name.toStdString(), false, Attention::split);
  const at::NoGradGuard no_grad;
  const at::Tensor out = c.model->forward(c.inputs);
  if (c.has("out_split_attn")) {
    LATHE_CLOSE(out, c.golden.at("out_split_attn"), kOutputTolerance);
    QVERIFY(relative_difference(out, c.golden.at("out")) > 0.01);  // the cut is there
  } else {
    // Enough image tokens: nothing is cut.
    LATHE_CLOSE(out, c.golden.at(is_with_lora(c.golden) ? "out_base" : "out"), kOutputTolerance);
  }
}

void TestGoldenDit::onePercentOnAnyWeightIsSeen() {
  LATHE_NEEDS_GOLDEN("anima/dit_a.safetensors");
  Case c("dit_a", true);
  const at::NoGradGuard no_grad;
  const at::Tensor& golden = c.golden.at("out");
  NamedTensors all = c.model->state();
  for (const auto& [key, tensor] : c.lora->state()) {
    if (tensor.dim() == 2) all.emplace_back(key, tensor);  // alpha is no weight
  }
  for (auto& [key, tensor] : all) {
    const at::Tensor before = tensor.detach();
    tensor.set_data(one_percent_off(before));
    const double difference = relative_difference(c.model->forward(c.inputs), golden);
    QVERIFY2(difference > kOutputTolerance, qPrintable(QString::fromStdString(key)));
    tensor.set_data(before);
  }
  LATHE_CLOSE(c.model->forward(c.inputs), golden, kOutputTolerance);
}

LATHE_TEST(TestGoldenDit);
#include "golden_dit_test.moc"
