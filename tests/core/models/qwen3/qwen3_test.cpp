#include "core/models/qwen3/qwen3.h"

#include "core/base/error.h"
#include "core/models/common/state_dict.h"
#include "core/models/qwen3/sizes.h"
#include "core/models/qwen3/tiny.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/tensor_check.h"
#include "tests/support/test_main.h"

using namespace lathe;
using namespace lathe::models;

class TestQwen3 : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void writesAndReadsATinyEncoder();
  void readsAHuggingFaceFolder();
  void refusesAFileWithoutALayerWeight();
  void refusesAnotherModel();
  void refusesPaddingOnTheLeft();
  void aRowDoesNotDependOnItsNeighbours();
  void adaptersSeeEveryLinearInOrder();
};

namespace {

Qwen3Sizes small_sizes() {
  Qwen3Sizes sizes = qwen3::tiny_sizes(32);
  sizes.vocabulary = 50;
  return sizes;
}

at::Tensor ids_of(std::initializer_list<std::int64_t> ids) {
  return at::tensor(std::vector<std::int64_t>(ids)).unsqueeze(0);
}

StateDict state_of(const Qwen3& model, const std::string& without = {}) {
  StateDict weights;
  for (const auto& [key, tensor] : model.state()) {
    if (key != without) weights.put(key, tensor);
  }
  return weights;
}

}  // namespace

void TestQwen3::writesAndReadsATinyEncoder() {
  const testing::TemporaryFolder folder;
  qwen3::write_tiny(folder.path() / "te.safetensors", qwen3::tiny_sizes(32));
  const auto model = Qwen3::load(folder.path() / "te.safetensors", at::kFloat, at::kCPU);
  QCOMPARE(model->sizes().vocabulary, 151936);
  QCOMPARE(model->sizes().hidden, 32);
  const at::Tensor out = model->forward(ids_of({151643, 5, 7}), at::ones({1, 3}, at::kLong));
  QCOMPARE(out.sizes().vec(), (std::vector<std::int64_t>{1, 3, 32}));
  QVERIFY(out.isfinite().all().item<bool>());
  QVERIFY(out.std().item<double>() > 0.1);
}

void TestQwen3::readsAHuggingFaceFolder() {
  const testing::TemporaryFolder folder;
  qwen3::write_tiny(folder.path() / "model.safetensors", small_sizes());
  const at::Tensor ids = ids_of({1, 2, 3, 4}), mask = at::ones({1, 4}, at::kLong);
  const at::Tensor as_standard = Qwen3::load(folder.path(), at::kFloat, at::kCPU)->forward(ids, mask);
  folder.write("config.json", R"({"rope_theta": 100.0, "rms_norm_eps": 1e-5})");
  const auto model = Qwen3::load(folder.path(), at::kFloat, at::kCPU);
  QCOMPARE(model->sizes().rope_theta, 100.0);
  QCOMPARE(model->sizes().rms_eps, 1e-5);
  QVERIFY(testing::relative_difference(model->forward(ids, mask), as_standard) > 1e-3);
}

void TestQwen3::refusesAFileWithoutALayerWeight() {
  const testing::TemporaryFolder folder;
  qwen3::write_tiny(folder.path() / "te.safetensors", small_sizes());
  const auto model = Qwen3::load(folder.path() / "te.safetensors", at::kFloat, at::kCPU);
  StateDict weights = state_of(*model, "layers.0.mlp.up_proj.weight");
  try {
    make_qwen3(weights, model->sizes(), at::kFloat, at::kCPU);
    QFAIL("a missing weight was accepted");
  } catch (const Error& error) {
    QCOMPARE(error.kind(), ErrorKind::checkpoint);
    QVERIFY(error.message().find("layers.0.mlp.up_proj.weight") != std::string::npos);
  }
}

void TestQwen3::refusesAnotherModel() {
  StateDict weights;
  weights.put("blocks.0.weight", at::ones({2, 2}));
  QVERIFY_EXCEPTION_THROWN(qwen3::sizes_of(weights), Error);
}

void TestQwen3::refusesPaddingOnTheLeft() {
  const testing::TemporaryFolder folder;
  qwen3::write_tiny(folder.path() / "te.safetensors", small_sizes());
  const auto model = Qwen3::load(folder.path() / "te.safetensors", at::kFloat, at::kCPU);
  const at::Tensor mask = at::tensor(std::vector<std::int64_t>{0, 1, 1}).unsqueeze(0);
  QVERIFY_EXCEPTION_THROWN(model->forward(ids_of({1, 2, 3}), mask), Error);
}

void TestQwen3::aRowDoesNotDependOnItsNeighbours() {
  const testing::TemporaryFolder folder;
  qwen3::write_tiny(folder.path() / "te.safetensors", small_sizes());
  const auto model = Qwen3::load(folder.path() / "te.safetensors", at::kFloat, at::kCPU);
  const at::Tensor ids = at::cat({ids_of({1, 2, 3, 4, 5, 6}), ids_of({7, 8, 0, 0, 0, 0})});
  const at::Tensor mask = at::cat({ids_of({1, 1, 1, 1, 1, 1}), ids_of({1, 1, 0, 0, 0, 0})});
  const at::Tensor both = model->forward(ids, mask);
  const at::Tensor alone = model->forward(ids.narrow(0, 1, 1), mask.narrow(0, 1, 1));
  LATHE_CLOSE(both.narrow(0, 1, 1), alone, 1e-6);
  QVERIFY(both.select(0, 1).narrow(0, 2, 4).eq(0).all().item<bool>());
}

void TestQwen3::adaptersSeeEveryLinearInOrder() {
  const testing::TemporaryFolder folder;
  qwen3::write_tiny(folder.path() / "te.safetensors", small_sizes());
  const auto model = Qwen3::load(folder.path() / "te.safetensors", at::kFloat, at::kCPU);
  const std::vector<NamedLinear> linears = model->linears();
  QCOMPARE(linears.size(), std::size_t{14});
  QCOMPARE(linears[3].name, std::string("layers.0.self_attn.o_proj"));
  QCOMPARE(linears[3].parent_class, std::string("Qwen3Attention"));
  QCOMPARE(linears[13].name, std::string("layers.1.mlp.down_proj"));
  QCOMPARE(linears[13].parent_class, std::string("Qwen3MLP"));
}

LATHE_TEST(TestQwen3);
#include "qwen3_test.moc"
