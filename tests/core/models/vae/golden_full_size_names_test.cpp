#include <nlohmann/json.hpp>

#include "core/base/error.h"
#include "core/base/files.h"
#include "core/models/common/state_dict.h"
#include "core/models/qwen3/qwen3.h"
#include "core/models/qwen3/sizes.h"
#include "core/models/vae/vae.h"
#include "tests/support/golden.h"
#include "tests/support/tensor_check.h"
#include "tests/support/test_main.h"

using namespace lathe;
using namespace lathe::models;

namespace {

constexpr const char* kFile = "anima/full_size_names.json";
using KeyShapes = std::vector<std::pair<std::string, std::vector<std::int64_t>>>;

KeyShapes golden(const char* model) {
  const auto names = nlohmann::json::parse(read_text(testing::golden_folder() / kFile));
  return names.at(model).get<KeyShapes>();
}

// Shapes without memory.
StateDict on_meta(const KeyShapes& keys, const std::string& without = {}) {
  StateDict weights;
  for (const auto& [key, shape] : keys) {
    if (key != without) weights.put(key, at::empty(shape, at::TensorOptions().dtype(at::kBFloat16).device(at::kMeta)));
  }
  return weights;
}

template <class Model>
KeyShapes key_shapes(const Model& model) {
  KeyShapes keys;
  for (const auto& [key, tensor] : model.state()) keys.emplace_back(key, tensor.sizes().vec());
  return keys;
}

}  // namespace

class TestGoldenFullSizeNamesEncoders : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void theVaeHasTheReferencesWeights();
  void theTextEncoderHasTheReferencesWeights();
  void everyWeightIsNeeded();
};

void TestGoldenFullSizeNamesEncoders::theVaeHasTheReferencesWeights() {
  LATHE_NEEDS_GOLDEN(kFile);
  const KeyShapes expected = golden("qwen_image_vae");
  StateDict weights = on_meta(expected);
  QVERIFY(key_shapes(*make_vae(weights, at::kBFloat16, at::kMeta)) == expected);
}

void TestGoldenFullSizeNamesEncoders::theTextEncoderHasTheReferencesWeights() {
  LATHE_NEEDS_GOLDEN(kFile);
  const KeyShapes expected = golden("qwen3_0_6b");
  StateDict weights = on_meta(expected);
  const auto model = make_qwen3(weights, qwen3::sizes_of(weights), at::kBFloat16, at::kMeta);
  QVERIFY(key_shapes(*model) == expected);
}

void TestGoldenFullSizeNamesEncoders::everyWeightIsNeeded() {
  LATHE_NEEDS_GOLDEN(kFile);
  for (const auto& [key, shape] : golden("qwen_image_vae")) {
    StateDict weights = on_meta(golden("qwen_image_vae"), key);
    QVERIFY_EXCEPTION_THROWN(make_vae(weights, at::kBFloat16, at::kMeta), Error);
  }
}

LATHE_TEST(TestGoldenFullSizeNamesEncoders);
#include "golden_full_size_names_test.moc"
