#include <nlohmann/json.hpp>

#include <ATen/ATen.h>

#include "core/base/error.h"
#include "core/base/files.h"
#include "core/models/anima/dit.h"
#include "core/models/common/state_dict.h"
#include "core/models/common/tensor_file.h"
#include "tests/support/golden.h"
#include "tests/support/tensor_check.h"
#include "tests/support/test_main.h"

using namespace lathe::models;

class TestGoldenFullSizeNamesDit : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void theTransformerHasTheReferencesWeights();
  void everyWeightIsNeeded();

 private:
  static nlohmann::json golden();
};

namespace {

constexpr const char* kFile = "anima/full_size_names.json";
using KeyShapes = std::vector<std::pair<std::string, std::vector<std::int64_t>>>;

// Shapes without memory.
StateDict on_meta(const KeyShapes& keys) {
  StateDict weights;
  for (const auto& [key, shape] : keys) weights.put(key, at::empty(shape, at::TensorOptions().device(at::kMeta)));
  return weights;
}

std::unique_ptr<anima::Dit> build(StateDict weights) {
  return anima::Dit::build(weights, {.dtype = at::kBFloat16, .device = at::kMeta});
}

std::int64_t elements(const NamedTensors& state, const std::string& prefix) {
  std::int64_t count = 0;
  for (const auto& [key, tensor] : state) count += key.rfind(prefix, 0) == 0 ? tensor.numel() : 0;
  return count;
}

}  // namespace

nlohmann::json TestGoldenFullSizeNamesDit::golden() {
  return nlohmann::json::parse(lathe::read_text(lathe::testing::golden_folder() / kFile));
}

void TestGoldenFullSizeNamesDit::theTransformerHasTheReferencesWeights() {
  LATHE_NEEDS_GOLDEN(kFile);
  const nlohmann::json file = golden();
  const auto expected = file.at("dit").get<KeyShapes>();
  const auto model = build(on_meta(expected));
  const NamedTensors state = model->state();

  KeyShapes weights;  // without the buffers, which follow from the sizes
  for (const auto& item : expected) {
    if (item.first.rfind("pos_embedder.", 0) != 0) weights.push_back(item);
  }
  KeyShapes found;
  for (const auto& [key, tensor] : state) found.emplace_back(key, tensor.sizes().vec());
  QVERIFY(found == weights);

  const auto& counts = file.at("counts");
  QCOMPARE(expected.size(), counts.at("dit").at(0).get<std::size_t>());
  QCOMPARE(state.size(), counts.at("dit").at(1).get<std::size_t>());
  QCOMPARE(elements(state, ""), counts.at("dit").at(2).get<std::int64_t>());
  QCOMPARE(elements(state, "blocks.0."), counts.at("dit_block").get<std::int64_t>());
  QCOMPARE(elements(state, "llm_adapter."), counts.at("llm_adapter").get<std::int64_t>());
}

void TestGoldenFullSizeNamesDit::everyWeightIsNeeded() {
  LATHE_NEEDS_GOLDEN(kFile);
  const auto expected = golden().at("dit").get<KeyShapes>();
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (expected[i].first.rfind("pos_embedder.", 0) == 0) continue;
    KeyShapes fewer = expected;
    fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
    QVERIFY_EXCEPTION_THROWN(build(on_meta(fewer)), lathe::Error);
  }
}

LATHE_TEST(TestGoldenFullSizeNamesDit);
#include "golden_dit_names_test.moc"
