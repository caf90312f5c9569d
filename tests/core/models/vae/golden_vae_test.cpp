#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "core/models/common/formula_weights.h"
#include "core/models/common/state_dict.h"
#include "core/models/vae/layout.h"
#include "core/models/vae/vae.h"
#include "tests/support/golden.h"
#include "tests/support/npz_tensors.h"
#include "tests/support/tensor_check.h"
#include "tests/support/test_main.h"

using namespace lathe;
using namespace lathe::models;

namespace {

// fp32 on the CPU, the tolerance stated with the data.
constexpr double kTolerance = 1e-4;

// vae_basedim<width>_….npz: the width is in no array, so it is read from the name.
std::vector<std::filesystem::path> golden_cases() {
  std::vector<std::filesystem::path> cases;
  if (!std::filesystem::is_directory(testing::golden_folder())) return cases;
  for (const auto& entry : std::filesystem::directory_iterator(testing::golden_folder())) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("vae_basedim") && name.ends_with(".npz")) cases.push_back(entry.path());
  }
  std::ranges::sort(cases);
  return cases;
}

std::int64_t base_of(const std::filesystem::path& path) {
  return std::stoll(path.filename().string().substr(std::string("vae_basedim").size()));
}

std::unique_ptr<Vae> formula_vae(std::int64_t base, const std::string& changed = {}) {
  StateDict weights;
  for (const auto& [key, shape] : vae::layout(base)) {
    at::Tensor weight = formula_weight(key, shape);
    if (key.ends_with(".gamma")) weight = formula_values(key, shape, 0.4, 1.0);
    if (key.ends_with(".bias")) weight = formula_values(key, shape, 0.2);
    if (key == changed) weight.mul_(1.01);
    weights.put(key, weight);
  }
  return make_vae(weights, at::kFloat, at::kCPU);
}

}  // namespace

class TestGoldenVae : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void formulaWeightsAreAsDescribed();
  void equalsTheReference_data();
  void equalsTheReference();
  void chunkingChangesNothing_data();
  void chunkingChangesNothing();
  void aWeightOnePercentOffIsSeen_data();
  void aWeightOnePercentOffIsSeen();
};

void TestGoldenVae::formulaWeightsAreAsDescribed() {
  const at::Tensor weight = formula_weight("encoder.conv_in.weight", {16, 3, 3, 3, 3}).flatten();
  const at::Tensor expected = at::tensor({0.00336341f, -0.18934542f, 0.03268323f});
  LATHE_CLOSE(weight.narrow(0, 0, 3), expected, 1e-6);
}

void TestGoldenVae::equalsTheReference_data() {
  QTest::addColumn<QString>("file");
  for (const auto& path : golden_cases())
    QTest::newRow(path.filename().string().c_str()) << QString::fromStdString(path.string());
}

void TestGoldenVae::equalsTheReference() {
  if (golden_cases().empty()) QSKIP("no golden VAE case is there");
  QFETCH(QString, file);
  const std::filesystem::path path = file.toStdString();
  const auto arrays = testing::npz_tensors(path);
  const auto vae = formula_vae(base_of(path));
  const at::Tensor pixels = arrays.at("pixels");
  LATHE_CLOSE(vae->moments(pixels), arrays.at("moments"), kTolerance);
  LATHE_CLOSE(vae->encode(pixels), arrays.at("latents"), kTolerance);
  LATHE_CLOSE(vae->decode(arrays.at("latents")), arrays.at("decoded"), kTolerance);
}

void TestGoldenVae::chunkingChangesNothing_data() {
  QTest::addColumn<int>("rows");
  for (const int rows : {1, 2, 5, 16, 64}) QTest::newRow(std::to_string(rows).c_str()) << rows;
}

void TestGoldenVae::chunkingChangesNothing() {
  if (golden_cases().empty()) QSKIP("no golden VAE case is there");
  QFETCH(int, rows);
  const auto arrays = testing::npz_tensors(golden_cases().front());
  const auto vae = formula_vae(base_of(golden_cases().front()));
  vae->set_chunk_size(rows);
  LATHE_CLOSE(vae->encode(arrays.at("pixels")), arrays.at("latents"), kTolerance);
  LATHE_CLOSE(vae->decode(arrays.at("latents")), arrays.at("decoded"), kTolerance);
}

// Weights of every kind of layer; those of the temporal convolutions take no part for a single frame.
void TestGoldenVae::aWeightOnePercentOffIsSeen_data() {
  QTest::addColumn<QString>("key");
  for (const char* key :
       {"encoder.conv_in.weight", "encoder.down_blocks.2.resample.1.weight", "encoder.down_blocks.3.conv_shortcut.bias",
        "encoder.mid_block.attentions.0.proj.weight", "encoder.norm_out.gamma", "quant_conv.bias",
        "post_quant_conv.weight", "decoder.mid_block.resnets.0.conv2.weight",
        "decoder.up_blocks.0.upsamplers.0.resample.1.weight", "decoder.up_blocks.3.resnets.2.norm2.gamma",
        "decoder.conv_out.weight"}) {
    QTest::newRow(key) << QString::fromLatin1(key);
  }
}

void TestGoldenVae::aWeightOnePercentOffIsSeen() {
  if (golden_cases().empty()) QSKIP("no golden VAE case is there");
  QFETCH(QString, key);
  const auto arrays = testing::npz_tensors(golden_cases().front());
  const auto vae = formula_vae(base_of(golden_cases().front()), key.toStdString());
  const double encoded = testing::relative_difference(vae->encode(arrays.at("pixels")), arrays.at("latents"));
  const double decoded = testing::relative_difference(vae->decode(arrays.at("latents")), arrays.at("decoded"));
  QVERIFY2(std::max(encoded, decoded) > kTolerance, qPrintable(QString::number(std::max(encoded, decoded))));
}

LATHE_TEST(TestGoldenVae);
#include "golden_vae_test.moc"
