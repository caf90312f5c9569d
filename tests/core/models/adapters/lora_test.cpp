#include "core/models/adapters/lora.h"

#include <ATen/ATen.h>

#include "core/base/log.h"
#include "tests/core/models/adapters/lora_fixture.h"
#include "tests/support/tensor_check.h"
#include "tests/support/test_main.h"

using namespace lathe::models;
using namespace lathe::testing;

class TestLora : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void startsWithTheReferencesDraws();
  void addsUpTimesDownTimesStrengthTimesScale();
  void multipliesByStrengthBeforeScale();
  void neuronDropoutActsOnTheRanks();
  void rankDropoutMasksASampleOnEveryAxis_data();
  void rankDropoutMasksASampleOnEveryAxis();
  void moduleDropoutLeavesTheBaseAlone();
  void dropoutsRestOutsideTraining();
  void selectsByClassAndPattern();
  void aPatternThatIsNoExpressionIsLoggedAndIgnored();
  void groupsByPatternAndPlus();
  void aRateOfZeroLeavesAGroupOut();
  void theTextEncodersGroupsHaveItsNameAndRatio();
  void keepsAnIntegerAlphaAnInteger();
  void limitsTheNormOfEachModule();
  void detachesWhenItGoes();
};

void TestLora::startsWithTheReferencesDraws() {
  // What torch.nn.Linear(6, 2), Linear(2, 5), kaiming_uniform_ and the same for 5 → 6 give after manual_seed(7).
  const std::vector<float> first = {0.20999839901924133f, 0.15909233689308167f, 0.017089316621422768f,
                                    0.0761229619383812f,  0.31002718210220337f, 0.10499256104230881f};
  const std::vector<float> second = {0.04923636466264725f, 0.12170306593179703f, -0.3505365252494812f,
                                     -0.15162299573421478f, 0.017510011792182922f};
  LoraFixture model;
  at::manual_seed(7);
  const LoraNetwork lora(model.linears(), "lora_unet", ranks_of(2, 1.0));
  QCOMPARE(names_of(lora), (std::vector<std::string>{"blocks.0.mlp.layer1", "blocks.1.mlp.layer2"}));
  QVERIFY(at::equal(lora.modules()[0].down[0], at::tensor(first)));
  QVERIFY(at::equal(lora.modules()[1].down[1], at::tensor(second)));
  QVERIFY(lora.modules()[0].up.eq(0).all().item<bool>());
  for (const at::Tensor& parameter : lora.parameters()) QVERIFY(parameter.requires_grad() && parameter.is_leaf());
}

void TestLora::addsUpTimesDownTimesStrengthTimesScale() {
  LoraFixture model;
  LoraNetwork lora(model.linears(), "lora_unet", ranks_of(3, 1.5));
  randomise(lora);
  const LoraModule& module = lora.modules()[0];
  QCOMPARE(module.scale, 0.5);
  const at::Tensor x = at::randn({2, 4, 6});
  const auto expected = [&](double strength) {
    return x.matmul(model.up.weight.t()) + x.matmul(module.down.t()).matmul(module.up.t()) * (0.5 * strength);
  };
  LATHE_CLOSE(model.up(x), expected(1.0), 1e-6);
  lora.set_multiplier(0.25);
  LATHE_CLOSE(model.up(x), expected(0.25), 1e-6);
}

void TestLora::multipliesByStrengthBeforeScale() {
  // In bf16 the order and the two roundings show.
  LoraFixture model;
  model.up.weight = at::zeros({5, 6}, at::kBFloat16);
  LoraNetwork lora(model.linears(), "lora_unet", ranks_of(3, 1.0));
  randomise(lora);
  lora.to(at::kBFloat16);
  lora.set_multiplier(0.7);
  const LoraModule& module = lora.modules()[0];
  const at::Tensor x = at::randn({64, 6}).to(at::kBFloat16);
  const at::Tensor product = at::linear(at::linear(x, module.down), module.up);
  QVERIFY(at::equal(model.up(x), product * 0.7 * (1.0 / 3.0)));
  QVERIFY(!at::equal(model.up(x), product * (1.0 / 3.0) * 0.7));
}

void TestLora::neuronDropoutActsOnTheRanks() {
  LoraFixture model;
  LoraOptions options = ranks_of(4, 4.0);
  options.dropout = 0.5;
  LoraNetwork lora(model.linears(), "lora_unet", options);
  randomise(lora);
  const LoraModule& module = lora.modules()[0];
  const at::Tensor x = at::randn({3, 6});
  at::manual_seed(1);
  const at::Tensor actual = model.up(x);
  at::manual_seed(1);
  const at::Tensor kept = at::dropout(at::linear(x, module.down), 0.5, true);
  QVERIFY(at::equal(actual, at::linear(x, model.up.weight) + at::linear(kept, module.up)));
}

void TestLora::rankDropoutMasksASampleOnEveryAxis_data() {
  QTest::addColumn<std::vector<std::int64_t>>("shape");
  QTest::newRow("tokens") << std::vector<std::int64_t>{3, 7, 6};
  QTest::newRow("grid of tokens") << std::vector<std::int64_t>{3, 1, 2, 4, 6};
}

void TestLora::rankDropoutMasksASampleOnEveryAxis() {
  QFETCH(std::vector<std::int64_t>, shape);
  LoraFixture model;
  LoraOptions options = ranks_of(4, 2.0);
  options.rank_dropout = 0.25;
  LoraNetwork lora(model.linears(), "lora_unet", options);
  randomise(lora);
  const LoraModule& module = lora.modules()[0];
  const at::Tensor x = at::randn(shape);
  at::manual_seed(2);
  const at::Tensor actual = model.up(x);
  at::manual_seed(2);
  const at::Tensor mask = at::rand({3, 4}).gt(0.25);
  QVERIFY(!mask.all().item<bool>());
  for (std::int64_t sample = 0; sample < 3; ++sample) {
    const at::Tensor kept = at::linear(x[sample], module.down) * mask[sample];
    LATHE_CLOSE(actual[sample], at::linear(x[sample], model.up.weight) + at::linear(kept, module.up) * (0.5 / 0.75),
                1e-6);
  }
}

void TestLora::moduleDropoutLeavesTheBaseAlone() {
  LoraFixture model;
  LoraOptions options = ranks_of(4, 4.0);
  options.module_dropout = 0.5;
  LoraNetwork lora(model.linears(), "lora_unet", options);
  randomise(lora);
  const at::Tensor x = at::randn({2, 6}), base = at::linear(x, model.up.weight);
  at::manual_seed(11);
  std::vector<bool> left_out, expected;
  for (int i = 0; i < 20; ++i) left_out.push_back(at::equal(model.up(x), base));
  at::manual_seed(11);  // one draw a call
  for (int i = 0; i < 20; ++i) expected.push_back(at::rand({1}).item<float>() < 0.5f);
  QCOMPARE(left_out, expected);
}

void TestLora::dropoutsRestOutsideTraining() {
  LoraFixture model;
  LoraOptions options = ranks_of(4, 4.0);
  options.dropout = options.rank_dropout = options.module_dropout = 0.9;
  LoraNetwork lora(model.linears(), "lora_unet", options);
  randomise(lora);
  const LoraModule& module = lora.modules()[0];
  const std::string training = model.up.adapter->structure();
  lora.set_training(false);
  QVERIFY(model.up.adapter->structure() != training);
  const at::Tensor x = at::randn({2, 6});
  LATHE_CLOSE(model.up(x), at::linear(x, model.up.weight) + at::linear(at::linear(x, module.down), module.up), 1e-6);
}

void TestLora::selectsByClassAndPattern() {
  LoraFixture model;
  LoraOptions options = ranks_of(4, 1.0);
  options.train_llm_adapter = true;
  options.exclude_patterns = {R"(blocks\.\d+\.mlp.*)"};
  options.include_patterns = {".*layer1", "x_embedder.*"};
  options.rank_by_pattern = {{".*layer1", 2}, {"blocks.*", 7}, {"llm_adapter.*", 0}};
  const LoraNetwork lora(model.linears(), "lora_unet", options);
  QCOMPARE(names_of(lora), (std::vector<std::string>{"x_embedder.proj.1", "blocks.0.mlp.layer1"}));
  QCOMPARE(lora.modules()[0].rank, std::int64_t{4});
  QCOMPARE(lora.modules()[1].rank, std::int64_t{2});
  QCOMPARE(lora.modules()[1].lora_name, std::string("lora_unet_blocks_0_mlp_layer1"));
  QVERIFY(!model.adapter.adapter);
}

void TestLora::aPatternThatIsNoExpressionIsLoggedAndIgnored() {
  std::vector<std::string> logged;
  lathe::log::set_listener([&](lathe::log::Level, const std::string& text) { logged.push_back(text); });
  LoraFixture model;
  LoraOptions options = ranks_of(4, 1.0);
  options.exclude_patterns = {"(", ".*layer1"};
  const LoraNetwork lora(model.linears(), "lora_unet", options);
  lathe::log::set_listener({});
  QCOMPARE(names_of(lora), std::vector<std::string>{"blocks.1.mlp.layer2"});
  QCOMPARE(logged.size(), std::size_t{1});
  QVERIFY(QString::fromStdString(logged[0]).startsWith("'(' is not a regular expression"));
}

void TestLora::groupsByPatternAndPlus() {
  LoraFixture model;
  LoraOptions options = ranks_of(4, 1.0);
  options.train_llm_adapter = true;
  options.lr_by_pattern = {{"nothing", 1.0}, {".*layer2", 1e-3}};
  options.loraplus_lr_ratio = 16.0;
  options.loraplus_unet_lr_ratio = 4.0;
  const LoraNetwork lora(model.linears(), "lora_unet", options);
  const std::vector<LoraGroup> groups = lora.groups(5e-5);
  std::vector<std::string> names;
  std::vector<double> rates;
  std::vector<std::size_t> counts;
  for (const LoraGroup& group : groups) {
    names.push_back(group.description);
    rates.push_back(group.learning_rate);
    counts.push_back(group.parameters.size());
  }
  QCOMPARE(names, (std::vector<std::string>{"unet reg_lr_1", "unet reg_lr_1 plus", "unet", "unet plus"}));
  QCOMPARE(rates, (std::vector<double>{1e-3, 4e-3, 5e-5, 2e-4}));
  QCOMPARE(counts, (std::vector<std::size_t>{1, 1, 2, 2}));
  QVERIFY(groups[1].parameters[0].is_same(lora.modules()[2].up));
}

void TestLora::aRateOfZeroLeavesAGroupOut() {
  LoraFixture model;
  LoraOptions options = ranks_of(4, 1.0);
  options.lr_by_pattern = {{".*layer2", 0.0}};
  const LoraNetwork lora(model.linears(), "lora_unet", options);
  QCOMPARE(lora.groups(1e-4).size(), std::size_t{1});
  QCOMPARE(lora.groups(1e-4)[0].parameters.size(), std::size_t{2});
  QVERIFY(lora.groups(0.0).empty());
}

void TestLora::theTextEncodersGroupsHaveItsNameAndRatio() {
  Linear projection{.weight = at::randn({4, 4})};
  LoraOptions options = ranks_of(4, 1.0);
  options.loraplus_unet_lr_ratio = 4.0;
  options.loraplus_text_encoder_lr_ratio = 2.0;
  const LoraNetwork lora({{"layers.0.self_attn.q_proj", "Qwen3Attention", &projection}}, "lora_te", options);
  QCOMPARE(lora.modules()[0].lora_name, std::string("lora_te_layers_0_self_attn_q_proj"));
  const std::vector<LoraGroup> groups = lora.groups(1e-4);
  QCOMPARE(groups.size(), std::size_t{2});
  QCOMPARE(groups[1].description, std::string("textencoder 1 plus"));
  QCOMPARE(groups[1].learning_rate, 2e-4);
}

void TestLora::keepsAnIntegerAlphaAnInteger() {
  LoraFixture model;
  const auto alpha = [&](const LoraOptions& options) {
    LoraNetwork lora(model.linears(), "lora_unet", options);
    lora.to(at::kHalf);
    if (lora.modules()[0].down.scalar_type() != at::kHalf || !lora.parameters()[0].requires_grad()) return at::Tensor();
    return lora.state()[0].second;
  };
  QCOMPARE(alpha({}).scalar_type(), at::kLong);
  QCOMPARE(alpha(ranks_of(4, 1.0)).scalar_type(), at::kHalf);
  const at::Tensor fallback = alpha(ranks_of(4, 0.0));  // the rank is an integer
  QCOMPARE(fallback.scalar_type(), at::kLong);
  QCOMPARE(fallback.item<std::int64_t>(), std::int64_t{4});
}

void TestLora::limitsTheNormOfEachModule() {
  LoraFixture model;
  LoraNetwork lora(model.linears(), "lora_unet", ranks_of(4, 2.0));
  const LoraModule &large = lora.modules()[0], &small = lora.modules()[1];
  {
    const at::NoGradGuard no_grad;
    large.down.fill_(1.0);
    large.up.fill_(1.0);  // up·down is 4 everywhere, halved by the scale: the norm is 2√30
    small.down.fill_(0.01);
    small.up.fill_(0.01);
  }
  const LoraNetwork::NormReport report = lora.limit_norms(3.0);
  const auto norm = [](const LoraModule& module) { return (module.up.mm(module.down) * 0.5).norm().item<double>(); };
  QCOMPARE(report.scaled, std::int64_t{1});
  QVERIFY(std::abs(norm(large) - 3.0) < 1e-5);
  QVERIFY(std::abs(report.maximum - 3.0) < 1e-5);
  QVERIFY(std::abs(large.down[0][0].item<double>() - large.up[0][0].item<double>()) < 1e-6);
  QVERIFY(small.down.eq(0.01f).all().item<bool>());
  QVERIFY(std::abs(report.mean - (3.0 + norm(small)) / 2) < 1e-5);
}

void TestLora::detachesWhenItGoes() {
  LoraFixture model;
  {
    const LoraNetwork lora(model.linears(), "lora_unet", ranks_of(4, 2.0));
    QVERIFY(model.up.adapter != nullptr);
  }
  QVERIFY(model.up.adapter == nullptr);
}

LATHE_TEST(TestLora);
#include "lora_test.moc"
