#include <cmath>
#include <map>

#include <nlohmann/json.hpp>

#include "core/base/files.h"
#include "core/models/common/formula_weights.h"
#include "core/models/common/state_dict.h"
#include "core/models/qwen3/qwen3.h"
#include "core/models/qwen3/sizes.h"
#include "tests/support/golden.h"
#include "tests/support/npz_tensors.h"
#include "tests/support/tensor_check.h"
#include "tests/support/test_main.h"

using namespace lathe;
using namespace lathe::models;

namespace {

// fp32, CPU: the references' own results move by 4e-7 between kernels.
constexpr double kTolerance = 1e-5;

StateDict golden_weights() {
  return StateDict::load(testing::golden_folder() / "anima/qwen3_tiny_model.safetensors",
                         [](const std::string& key) { return key.starts_with("model.") ? key.substr(6) : key; });
}

std::unique_ptr<Qwen3> golden_model(StateDict weights) {
  Qwen3Sizes sizes = qwen3::sizes_of(weights);
  qwen3::read_config(testing::golden_folder() / "anima/qwen3_tiny_config.json", sizes);
  return make_qwen3(weights, sizes, at::kFloat, at::kCPU);
}

// The older case has the same sizes as the other and weights made by a formula (data spec 10).
Qwen3Sizes formula_sizes() {
  const auto config = nlohmann::json::parse(read_text(testing::golden_folder() / "anima/qwen3_tiny_config.json"));
  Qwen3Sizes sizes;
  config.at("vocab_size").get_to(sizes.vocabulary);
  config.at("hidden_size").get_to(sizes.hidden);
  config.at("num_hidden_layers").get_to(sizes.layers);
  config.at("num_attention_heads").get_to(sizes.heads);
  config.at("num_key_value_heads").get_to(sizes.kv_heads);
  config.at("head_dim").get_to(sizes.head_size);
  config.at("intermediate_size").get_to(sizes.mlp);
  config.at("rope_theta").get_to(sizes.rope_theta);
  config.at("rms_norm_eps").get_to(sizes.rms_eps);
  return sizes;
}

StateDict formula_state(const std::string& changed = {}) {
  StateDict weights;
  for (const auto& [key, shape] : qwen3::layout(formula_sizes())) {
    at::Tensor weight = formula_weight(key, shape);
    if (shape.size() == 1) weight = formula_values(key, shape, 0.4, 1.0);
    if (key == "embed_tokens.weight") weight = formula_values(key, shape, 2.0);
    // Half the columns: as a whole, q_proj and k_proj may be scaled freely, since their norms undo it.
    if (key == changed) weight.narrow(-1, 0, shape.back() / 2).mul_(1.01);
    weights.put(key, weight);
  }
  return weights;
}

}  // namespace

class TestGoldenQwen3 : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void sizesFollowFromTheShapes();
  void equalsTransformers();
  void runsOnlyTheTokens();
  void equalsTheFormulaWeightedCase();
  void aWeightOnePercentOffIsSeen_data();
  void aWeightOnePercentOffIsSeen();
};

void TestGoldenQwen3::sizesFollowFromTheShapes() {
  LATHE_NEEDS_GOLDEN("anima/qwen3_tiny_model.safetensors");
  LATHE_NEEDS_GOLDEN("anima/qwen3_tiny_config.json");
  const Qwen3Sizes sizes = qwen3::sizes_of(golden_weights()), expected = formula_sizes();
  QCOMPARE(sizes.vocabulary, expected.vocabulary);
  QCOMPARE(sizes.hidden, expected.hidden);
  QCOMPARE(sizes.layers, expected.layers);
  QCOMPARE(sizes.heads, expected.heads);
  QCOMPARE(sizes.kv_heads, expected.kv_heads);
  QCOMPARE(sizes.head_size, expected.head_size);
  QCOMPARE(sizes.mlp, expected.mlp);
}

void TestGoldenQwen3::equalsTransformers() {
  LATHE_NEEDS_GOLDEN("anima/qwen3_tiny_model.safetensors");
  LATHE_NEEDS_GOLDEN("anima/qwen3_tiny_config.json");
  LATHE_NEEDS_GOLDEN("anima/qwen3_tiny_io.safetensors");
  const io::SafetensorsFile file(testing::golden_folder() / "anima/qwen3_tiny_io.safetensors");
  const auto model = golden_model(golden_weights());
  const at::Tensor out = model->forward(borrow(file, file.at("input_ids")), borrow(file, file.at("attention_mask")));
  LATHE_CLOSE(out, borrow(file, file.at("last_hidden_state")), kTolerance);
}

void TestGoldenQwen3::runsOnlyTheTokens() {
  LATHE_NEEDS_GOLDEN("anima/qwen3_tiny_model.safetensors");
  LATHE_NEEDS_GOLDEN("anima/qwen3_tiny_io.safetensors");
  const io::SafetensorsFile file(testing::golden_folder() / "anima/qwen3_tiny_io.safetensors");
  const auto model = golden_model(golden_weights());
  const at::Tensor ids = borrow(file, file.at("input_ids")).clone();
  const at::Tensor mask = borrow(file, file.at("attention_mask")).clone();
  // An empty text has no token at all; ids that no table has would fail if they were looked up.
  mask.select(0, 0).zero_();
  ids.select(0, 0).fill_(model->sizes().vocabulary + 7);
  const at::Tensor out = model->forward(ids, mask);
  QVERIFY(out.select(0, 0).eq(0).all().item<bool>());
  LATHE_CLOSE(out.narrow(0, 1, 2), borrow(file, file.at("last_hidden_state")).narrow(0, 1, 2), kTolerance);
  QVERIFY(model->forward(ids, at::zeros_like(mask)).eq(0).all().item<bool>());
}

void TestGoldenQwen3::equalsTheFormulaWeightedCase() {
  LATHE_NEEDS_GOLDEN("qwen3_tiny.npz");
  const auto arrays = testing::npz_tensors(testing::golden_folder() / "qwen3_tiny.npz");
  StateDict weights = formula_state();
  const auto model = make_qwen3(weights, formula_sizes(), at::kFloat, at::kCPU);
  const at::Tensor out = model->forward(arrays.at("input_ids").to(at::kLong), arrays.at("attention_mask"));
  LATHE_CLOSE(out, arrays.at("last_hidden_state"), kTolerance);
}

void TestGoldenQwen3::aWeightOnePercentOffIsSeen_data() {
  QTest::addColumn<QString>("key");
  if (!testing::has_golden("anima/qwen3_tiny_config.json")) return;
  for (const auto& [key, shape] : qwen3::layout(formula_sizes()))
    QTest::newRow(key.c_str()) << QString::fromStdString(key);
}

void TestGoldenQwen3::aWeightOnePercentOffIsSeen() {
  LATHE_NEEDS_GOLDEN("qwen3_tiny.npz");
  QFETCH(QString, key);
  const auto arrays = testing::npz_tensors(testing::golden_folder() / "qwen3_tiny.npz");
  StateDict weights = formula_state(key.toStdString());
  const auto model = make_qwen3(weights, formula_sizes(), at::kFloat, at::kCPU);
  const at::Tensor out = model->forward(arrays.at("input_ids").to(at::kLong), arrays.at("attention_mask"));
  QVERIFY(testing::relative_difference(out, arrays.at("last_hidden_state")) > kTolerance);
}

LATHE_TEST(TestGoldenQwen3);
#include "golden_qwen3_test.moc"
