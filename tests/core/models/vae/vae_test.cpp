#include "core/models/vae/vae.h"

#include <map>

#include "core/base/error.h"
#include "core/models/common/formula_weights.h"
#include "core/models/common/state_dict.h"
#include "core/models/common/tensor_file.h"
#include "core/models/vae/layout.h"
#include "core/models/vae/tiny.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/tensor_check.h"
#include "tests/support/test_main.h"

using namespace lathe;
using namespace lathe::models;

class TestVae : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void aTinyVaeKeepsTheColours();
  void latentsOfATinyVaeHaveTheSpreadOfRealOnes();
  void readsTheWanNaming();
  void refusesAMissingWeight();
  void refusesAnotherModel();
  void stateIsWhatWasRead();
  void constantsAreRoundedToItsType();
  void computesInItsOwnType();
};

namespace {

std::unique_ptr<Vae> tiny(at::ScalarType dtype = at::kFloat) {
  const testing::TemporaryFolder folder;
  vae::write_tiny(folder.path() / "vae.safetensors");
  return Vae::load(folder.path() / "vae.safetensors", dtype, at::kCPU);
}

// Blocks of one colour, 16 pixels wide.
at::Tensor checkered() {
  return formula_values("colours", {1, 3, 3, 4}, 1.6).repeat_interleave(16, 2).repeat_interleave(16, 3);
}

std::string wan_key(const std::string& key) {
  static const std::vector<std::pair<std::string, std::string>> kInner = {{".norm1.", ".residual.0."},
                                                                          {".conv1.", ".residual.2."},
                                                                          {".norm2.", ".residual.3."},
                                                                          {".conv2.", ".residual.6."},
                                                                          {".conv_shortcut.", ".shortcut."}};
  std::string name = key;
  const auto replace = [&name](const std::string& from, const std::string& to) {
    const auto at = name.find(from);
    if (at != std::string::npos) name.replace(at, from.size(), to);
  };
  for (const auto& [ours, wan] : kInner) replace(ours, wan);
  for (int block = 0; block < 4; ++block) {
    const std::string ours = "decoder.up_blocks." + std::to_string(block);
    for (int r = 0; r < 3; ++r) {
      replace(ours + ".resnets." + std::to_string(r) + ".", "decoder.upsamples." + std::to_string(4 * block + r) + ".");
    }
    replace(ours + ".upsamplers.0.", "decoder.upsamples." + std::to_string(4 * block + 3) + ".");
  }
  replace("mid_block.resnets.0.", "middle.0.");
  replace("mid_block.attentions.0.", "middle.1.");
  replace("mid_block.resnets.1.", "middle.2.");
  replace("encoder.down_blocks.", "encoder.downsamples.");
  replace("coder.conv_in.", "coder.conv1.");
  replace("coder.norm_out.", "coder.head.0.");
  replace("coder.conv_out.", "coder.head.2.");
  if (name.starts_with("quant_conv.")) name.replace(0, 10, "conv1");
  if (name.starts_with("post_quant_conv.")) name.replace(0, 15, "conv2");
  return name;
}

}  // namespace

void TestVae::aTinyVaeKeepsTheColours() {
  const auto vae = tiny();
  const at::Tensor pixels = checkered();
  const at::Tensor back = vae->decode(vae->encode(pixels));
  QCOMPARE(back.sizes(), pixels.sizes());
  // In the middle of the blocks of colour, away from where neighbours are smoothed together.
  const auto middle = [](const at::Tensor& x) { return x.slice(2, 8, std::nullopt, 16).slice(3, 8, std::nullopt, 16); };
  const double worst = (middle(back) - middle(pixels)).abs().max().item<double>();
  const double mean = (back - pixels).abs().mean().item<double>();
  QVERIFY2(mean < 0.15, qPrintable(QString::number(mean)));
  QVERIFY2(worst < 0.02, qPrintable(QString::number(worst)));
}

void TestVae::latentsOfATinyVaeHaveTheSpreadOfRealOnes() {
  const at::Tensor latents =
      tiny()->encode(formula_values("noise", {1, 3, 8, 8}, 2.0).repeat_interleave(8, 2).repeat_interleave(8, 3));
  const double std = latents.std().item<double>();
  QVERIFY2(std > 0.6 && std < 1.6, qPrintable(QString::number(std)));
}

void TestVae::readsTheWanNaming() {
  const testing::TemporaryFolder folder;
  const auto ours = tiny();
  NamedTensors renamed;
  for (const auto& [key, tensor] : ours->state()) renamed.emplace_back(wan_key(key), tensor);
  write_tensors(folder.path() / "wan.safetensors", renamed, {});
  QCOMPARE(renamed.front().first, std::string("encoder.conv1.weight"));
  const auto wan = Vae::load(folder.path() / "wan.safetensors", at::kFloat, at::kCPU);
  const at::Tensor pixels = checkered();
  QVERIFY(wan->encode(pixels).equal(ours->encode(pixels)));
  QVERIFY(wan->decode(ours->encode(pixels)).equal(ours->decode(ours->encode(pixels))));
}

void TestVae::refusesAMissingWeight() {
  StateDict weights;
  for (const auto& [key, shape] : vae::layout(8)) {
    if (key != "decoder.up_blocks.1.upsamplers.0.time_conv.bias") weights.put(key, formula_weight(key, shape));
  }
  weights.put("surplus.weight", at::ones({1}));
  try {
    make_vae(weights, at::kFloat, at::kCPU);
    QFAIL("a missing weight was accepted");
  } catch (const Error& error) {
    QCOMPARE(error.kind(), ErrorKind::checkpoint);
    QVERIFY(error.message().find("decoder.up_blocks.1.upsamplers.0.time_conv.bias") != std::string::npos);
    QVERIFY(error.message().find("surplus.weight") != std::string::npos);
  }
}

void TestVae::refusesAnotherModel() {
  StateDict weights;
  weights.put("layers.0.weight", at::ones({1}));
  QVERIFY_EXCEPTION_THROWN(make_vae(weights, at::kFloat, at::kCPU), Error);
}

void TestVae::stateIsWhatWasRead() {
  const testing::TemporaryFolder folder;
  vae::write_tiny(folder.path() / "vae.safetensors");
  const io::SafetensorsFile file(folder.path() / "vae.safetensors");
  const auto vae = Vae::load(folder.path() / "vae.safetensors", at::kFloat, at::kCPU);
  QCOMPARE(vae->state().size(), file.tensors().size());
  for (const auto& [key, tensor] : vae->state()) QVERIFY2(tensor.equal(borrow(file, file.at(key))), key.c_str());
}

void TestVae::constantsAreRoundedToItsType() {
  // Data spec 6.6: mean and std are rounded to V, the reciprocal is taken in V.
  const auto vae = tiny(at::kBFloat16);
  const at::Tensor pixels = checkered();
  const at::Tensor mode = vae->moments(pixels).narrow(1, 0, 16), z = vae->encode(pixels);
  const auto expected = [&](std::int64_t channel, float mean, float reciprocal) {
    const auto constant = [](float value) { return at::full({}, value, at::kBFloat16); };
    return ((mode.select(1, channel) - constant(mean)) * constant(reciprocal)).equal(z.select(1, channel));
  };
  QVERIFY(expected(0, -0.7578125f, 0.35546875f));
  QVERIFY(expected(7, 1.5546875f, 0.48046875f));
  QVERIFY(expected(15, -0.29296875f, 0.5234375f));
}

void TestVae::computesInItsOwnType() {
  const auto vae = tiny(at::kBFloat16);
  QCOMPARE(vae->encode(checkered()).scalar_type(), at::kBFloat16);
  const at::Tensor rounded = vae->state()[0].second;
  vae->to(at::kFloat);
  QCOMPARE(vae->dtype(), at::kFloat);
  QCOMPARE(vae->encode(checkered()).scalar_type(), at::kFloat);
  QVERIFY(vae->state()[0].second.equal(rounded.to(at::kFloat)));
}

LATHE_TEST(TestVae);
#include "vae_test.moc"
