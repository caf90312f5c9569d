#include "core/models/anima/dit.h"

#include <map>

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include "core/base/error.h"
#include "core/models/adapters/lora.h"
#include "core/models/common/state_dict.h"
#include "core/models/common/tensor_file.h"
#include "tests/core/models/anima/random_dit.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/tensor_check.h"
#include "tests/support/test_main.h"

using namespace lathe::models;
using namespace lathe::models::anima;
using namespace lathe::testing;

class TestDit : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void initTestCase();
  void readsEverySizeFromShapes();
  void sizesWithoutAModelAreRefused();
  void acceptsEveryKnownPrefixAndAFileWithoutBuffers();
  void namesWhatAFileLacksAndWhatItHasTooMuch();
  void callsEachBlockOnceWithItsIndex();
  void equalBlocksHaveEqualStructureAndParameterShapes();
  void inputsVaryAsDeclared();
  void anOddOrHugeLatentIsRefused();
  void paddingRowsOfTheContextAreNoMask();
  void contextGivenReadyIsTakenAsItIs();
  void aModelWithoutAdapterRunsOnReadyContext();

 private:
  std::unique_ptr<Dit> load(const DitOptions& options = {}) const { return Dit::load(path_, options); }

  lathe::testing::TemporaryFolder folder_;
  std::filesystem::path path_;
};

namespace {

StateDict without_prefix(const std::filesystem::path& path) {
  return StateDict::load(path, [](const std::string& key) { return key.substr(4); });
}

QString error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const lathe::Error& error) {
    return QString::fromUtf8(error.what());
  }
  return {};
}

}  // namespace

void TestDit::initTestCase() {
  path_ = folder_.path() / "dit.safetensors";
  write_random_dit(path_, small_sizes(), 5);
}

void TestDit::readsEverySizeFromShapes() {
  const DitSizes read = load()->sizes(), wanted = small_sizes();
  const auto all = [](const DitSizes& s) {
    return std::vector<std::int64_t>{s.width,
                                     s.blocks,
                                     s.heads,
                                     s.head_size,
                                     s.mlp_width,
                                     s.adaln_rank,
                                     s.text_width,
                                     s.in_channels,
                                     s.out_channels,
                                     s.adapter_blocks,
                                     s.adapter_heads,
                                     s.adapter_width,
                                     s.adapter_vocabulary,
                                     s.adapter_mlp_width,
                                     s.adapter_source_width};
  };
  QCOMPARE(all(read), all(wanted));
  QCOMPARE(read.rope_h_extrapolation, 4.0);
  QCOMPARE(read.rope_w_extrapolation, 4.0);
  QCOMPARE(read.rope_t_extrapolation, 1.0);

  DitSizes wide = small_sizes();
  wide.in_channels = 17;
  const auto path = folder_.path() / "17.safetensors";
  write_random_dit(path, wide, 5);
  QCOMPARE(Dit::load(path, {})->sizes().rope_h_extrapolation, 3.0);
}

void TestDit::sizesWithoutAModelAreRefused() {
  DitSizes sizes = small_sizes();
  sizes.head_size = 8;
  sizes.heads = 8;
  const auto path = folder_.path() / "heads.safetensors";
  write_random_dit(path, sizes, 5);
  QVERIFY(error_of([&] { Dit::load(path, {}); }).contains("head size 8"));

  StateDict weights = without_prefix(path_);
  weights.put("blocks.0.self_attn.q_norm.weight", at::ones({24}));
  QVERIFY(error_of([&] { Dit::build(weights, {}); }).contains("width 64 is no multiple of the head size 24"));
  StateDict other;
  other.put("conv.weight", at::ones({1}));
  QVERIFY(error_of([&] { Dit::build(other, {}); }).contains("'x_embedder.proj.1.weight' is missing"));
}

void TestDit::acceptsEveryKnownPrefixAndAFileWithoutBuffers() {
  const auto model = load();
  const DitInputs inputs = some_inputs();
  const at::NoGradGuard no_grad;
  const at::Tensor expected = model->forward(inputs);
  for (const std::string prefix : {"", "net.", "model.diffusion_model.", "diffusion_model."}) {
    NamedTensors tensors;
    for (const auto& [key, tensor] : model->state()) tensors.emplace_back(prefix + key, tensor);
    const auto path = folder_.path() / "prefix.safetensors";
    write_tensors(path, tensors, {});
    QVERIFY(at::equal(Dit::load(path, {})->forward(inputs), expected));
  }
}

void TestDit::namesWhatAFileLacksAndWhatItHasTooMuch() {
  NamedTensors tensors = load()->state();
  tensors.erase(std::find_if(tensors.begin(), tensors.end(),
                             [](const auto& item) { return item.first == "blocks.1.mlp.layer2.weight"; }));
  tensors.emplace_back("blocks.1.mlp.layer3.weight", at::ones({1}));
  const auto path = folder_.path() / "faulty.safetensors";
  write_tensors(path, tensors, {});
  const QString text = error_of([&] { Dit::load(path, {}); });
  QVERIFY2(text.contains("1 missing: blocks.1.mlp.layer2.weight; 1 unexpected: blocks.1.mlp.layer3.weight"),
           qPrintable(text));
  QVERIFY2(text.contains("faulty.safetensors"), qPrintable(text));
}

void TestDit::callsEachBlockOnceWithItsIndex() {
  const auto model = load();
  std::vector<int> indices;
  std::vector<const Block*> seen, wanted;
  const at::NoGradGuard no_grad;
  model->forward(some_inputs(), [&](const Block& block, int index, std::span<const at::Tensor> inputs) {
    indices.push_back(index);
    seen.push_back(&block);
    return block.forward(inputs);
  });
  for (const auto& block : model->blocks()) wanted.push_back(block.get());
  QCOMPARE(indices, (std::vector<int>{0, 1, 2}));
  QCOMPARE(seen, wanted);
}

void TestDit::equalBlocksHaveEqualStructureAndParameterShapes() {
  const auto model = load();
  const auto shapes = [](const Block& block) {
    std::vector<std::vector<std::int64_t>> all;
    for (const at::Tensor& parameter : block.parameters()) all.push_back(parameter.sizes().vec());
    return all;
  };
  const auto& blocks = model->blocks();
  QCOMPARE(blocks[0]->parameters().size(), std::size_t{20});
  QCOMPARE(blocks[0]->structure(), blocks[2]->structure());
  QCOMPARE(shapes(*blocks[0]), shapes(*blocks[2]));
  QVERIFY(load({.attention = Attention::split})->blocks()[0]->structure() != blocks[0]->structure());
  QVERIFY(model->adapter_blocks()[0]->structure() != blocks[0]->structure());

  const std::string bare = blocks[0]->structure();
  LoraOptions options;
  options.rank_by_pattern = {{R"(blocks\.2\..*)", 2}};
  {
    LoraNetwork lora(model->linears(), "lora_unet", options);
    QCOMPARE(blocks[0]->parameters().size(), std::size_t{40});
    QCOMPARE(blocks[0]->structure(), blocks[1]->structure());
    QVERIFY(blocks[0]->structure() != bare);
    QVERIFY(blocks[0]->structure() != blocks[2]->structure());
    QCOMPARE(shapes(*blocks[0]), shapes(*blocks[1]));
    const std::string trained = blocks[0]->structure();
    lora.set_multiplier(0.5);
    QVERIFY(blocks[0]->structure() != trained);
  }
  QCOMPARE(blocks[0]->structure(), bare);
}

void TestDit::inputsVaryAsDeclared() {
  const auto model = load();
  const std::map<std::string, std::int64_t> first = {{"B", 2}, {"h", 3}, {"w", 4}, {"N", 7}, {"h*w", 12}};
  const std::map<std::string, std::int64_t> second = {{"B", 1}, {"h", 5}, {"w", 2}, {"N", 9}, {"h*w", 10}};
  std::vector<std::vector<std::int64_t>> shapes[2];
  const Block* block = model->blocks()[0].get();
  for (int i = 0; i < 2; ++i) {
    const auto& symbols = i == 0 ? first : second;
    DitInputs inputs = some_inputs(symbols.at("B"), symbols.at("h") * 2, symbols.at("w") * 2);
    inputs.text = at::zeros({symbols.at("B"), symbols.at("N"), 32});
    inputs.t5_ids = at::Tensor();
    const at::NoGradGuard no_grad;
    model->forward(inputs, [&](const Block& called, int, std::span<const at::Tensor> tensors) {
      if (&called == block) {
        for (const at::Tensor& tensor : tensors) shapes[i].push_back(tensor.sizes().vec());
      }
      return called.forward(tensors);
    });
  }
  // What is declared has the symbol's value, and nothing else differs.
  for (const VaryingDimension& varying : block->varying_dimensions()) {
    const auto input = static_cast<std::size_t>(varying.input), dim = static_cast<std::size_t>(varying.dim);
    QCOMPARE(shapes[0][input][dim], first.at(varying.symbol));
    QCOMPARE(shapes[1][input][dim], second.at(varying.symbol));
    shapes[1][input][dim] = shapes[0][input][dim];
  }
  QCOMPARE(shapes[1], shapes[0]);
}

void TestDit::anOddOrHugeLatentIsRefused() {
  const auto model = load();
  QVERIFY(error_of([&] { model->forward(some_inputs(1, 5, 8)); }).contains("latents of 8 × 5"));
  DitInputs inputs = some_inputs(1);
  inputs.x = at::empty({1, 16, 514, 2});
  QVERIFY(error_of([&] { model->forward(inputs); }).contains("up to 512"));
  inputs.x = at::empty({1, 4, 8, 8});
  QVERIFY(error_of([&] { model->forward(inputs); }).contains("expected [B, 16, H, W]"));
}

void TestDit::paddingRowsOfTheContextAreNoMask() {
  const auto model = load();
  DitInputs inputs = some_inputs();
  const at::NoGradGuard no_grad;
  const at::Tensor whole = model->forward(inputs);
  inputs.text = model->adapt_text(inputs).slice(1, 0, 5);
  inputs.t5_ids = at::Tensor();
  QVERIFY(relative_difference(model->forward(inputs), whole) > 1e-4);
}

void TestDit::contextGivenReadyIsTakenAsItIs() {
  const auto model = load();
  DitInputs inputs = some_inputs();
  const at::NoGradGuard no_grad;
  const at::Tensor whole = model->forward(inputs);
  // Masks and ids as caches give them: float.
  inputs.t5_ids = inputs.t5_ids.to(at::kFloat);
  inputs.t5_mask = inputs.t5_mask.to(at::kFloat);
  inputs.text_mask = inputs.text_mask.to(at::kFloat);
  QVERIFY(at::equal(model->forward(inputs), whole));
  inputs.text = model->adapt_text(inputs);
  inputs.t5_ids = at::Tensor();
  QVERIFY(at::equal(model->forward(inputs), whole));
}

void TestDit::aModelWithoutAdapterRunsOnReadyContext() {
  StateDict weights;
  const auto whole = load();
  for (const auto& [key, tensor] : whole->state()) {
    if (key.rfind("llm_adapter.", 0) != 0) weights.put(key, tensor);
  }
  const auto model = Dit::build(weights, {});
  DitInputs inputs = some_inputs();
  QVERIFY(error_of([&] { model->forward(inputs); }).contains("no LLM adapter"));
  QVERIFY(model->adapter_blocks().empty());
  inputs.text = whole->adapt_text(inputs);
  inputs.t5_ids = at::Tensor();
  QVERIFY(at::equal(model->forward(inputs), whole->forward(inputs)));
}

LATHE_TEST(TestDit);
#include "dit_test.moc"
