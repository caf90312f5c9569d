#include <ATen/ATen.h>
#include <c10/core/GradMode.h>
#include <nlohmann/json.hpp>

#include "core/models/adapters/lora.h"
#include "core/models/anima/dit.h"
#include "core/train/sampler.h"
#include "tests/core/train/golden_file.h"
#include "tests/support/golden.h"
#include "tests/support/tensor_check.h"
#include "tests/support/test_main.h"

using namespace lathe;
using lathe::testing::GoldenTensors;
using lathe::testing::relative_difference;
using nlohmann::json;

class TestGoldenSampling : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void initTestCase();
  void matchEveryRecord();
  void wouldNoticeOneChangedWeight();
};

namespace {

double allowed(at::ScalarType dtype) {
  return dtype == at::kFloat ? 2e-5 : 5e-2;
}

// The tiny model with its adapter active, in one dtype.
struct Model {
  std::unique_ptr<models::anima::Dit> dit;
  std::unique_ptr<models::LoraNetwork> lora;
  at::Tensor context;  // [2, N, C]: prompt, negative prompt

  explicit Model(at::ScalarType dtype) {
    const std::filesystem::path folder = testing::golden_folder() / "anima";
    dit = models::anima::Dit::load(folder / "tiny_dit.safetensors", {.dtype = dtype});
    models::LoraOptions options;
    options.alpha = 2.0;
    options.alpha_is_integer = false;
    lora = std::make_unique<models::LoraNetwork>(dit->linears(), "lora_unet", options);
    lora->load(folder / "tiny_lora.safetensors");
    const GoldenTensors arrays("sampling.safetensors");
    models::anima::DitInputs inputs;
    inputs.text = arrays["in.prompt_embeds"].to(dtype);
    inputs.text_mask = arrays["in.attn_mask"];
    inputs.t5_ids = arrays["in.t5_input_ids"];
    inputs.t5_mask = arrays["in.t5_attn_mask"];
    const c10::NoGradGuard no_grad;
    context = dit->adapt_text(inputs);
  }
};

train::SamplerOptions options_of(const json& record) {
  return {.steps = record["steps"],
          .scale = record["scale"],
          .flow_shift = record["flow_shift"],
          .dtype = testing::dtype_of(record["dtype"])};
}

at::Tensor sample(const Model& model, const json& record, int* calls) {
  const at::Tensor noise = train::sampling_noise(record["height"], record["width"], record["seed"].get<std::int64_t>());
  const train::Velocity velocity =
      train::dit_velocity(*model.dit, model.context.narrow(0, 0, 1), model.context.narrow(0, 1, 1));
  return train::sample_flow(options_of(record), noise, true,
                            [&](const at::Tensor& x, const at::Tensor& t, bool negative) {
                              ++*calls;
                              return velocity(x, t, negative);
                            });
}

}  // namespace

void TestGoldenSampling::initTestCase() {
  for (const char* file : {"anima/sampling.json", "anima/sampling.safetensors", "anima/tiny_dit.safetensors",
                           "anima/tiny_lora.safetensors"}) {
    LATHE_NEEDS_GOLDEN(file);
  }
}

void TestGoldenSampling::matchEveryRecord() {
  const GoldenTensors arrays("sampling.safetensors");
  const json records = testing::golden_json("sampling.json");
  QVERIFY(!records.empty());
  for (const json& record : records) {
    const std::string id = std::to_string(record["id"].get<int>());
    const at::ScalarType dtype = testing::dtype_of(record["dtype"]);
    const Model model(dtype);
    if (dtype == at::kFloat) LATHE_CLOSE(model.context, arrays["context_fp32"], 5e-6);
    LATHE_CLOSE(train::flow_sigmas(options_of(record), at::kCPU), testing::fp32(record["sigmas"]), 5e-7);
    QVERIFY(at::equal(train::sampling_noise(record["height"], record["width"], record["seed"].get<std::int64_t>()),
                      arrays[id + ".noise"]));
    int calls = 0;
    const at::Tensor latents = sample(model, record, &calls);
    QCOMPARE(calls, record["model_calls"].get<int>());
    LATHE_CLOSE(latents, arrays[id + ".latents"], allowed(dtype));
    qInfo("record %s: off by %.2g", id.c_str(), relative_difference(latents, arrays[id + ".latents"]));
  }
}

void TestGoldenSampling::wouldNoticeOneChangedWeight() {
  const json record = testing::golden_json("sampling.json")[0];
  const Model model(testing::dtype_of(record["dtype"]));
  at::Tensor weight = model.dit->state().back().second;
  weight.set_data(weight * 1.01);  // not in place: the file is mapped read-only
  int calls = 0;
  const GoldenTensors arrays("sampling.safetensors");
  QVERIFY(relative_difference(sample(model, record, &calls), arrays["0.latents"]) > 2e-5);
}

LATHE_TEST(TestGoldenSampling);
#include "golden_sampling_test.moc"
