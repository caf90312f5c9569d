#include "core/models/common/weight_table.h"

#include "core/base/error.h"
#include "core/models/block.h"
#include "tests/support/tensor_check.h"
#include "tests/support/test_main.h"

using namespace lathe::models;

class TestWeightTable : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void loadsAndListsInTheOrderOfRegistration();
  void anAdapterReplacesTheProductAndAddsItsWeights();
  void runsABlockAsItIs();
};

namespace {
struct Layers {
  Linear first, second;
  at::Tensor norm;
  WeightTable table;

  Layers() {
    table.add("first", first, 3, 2, true);
    table.add("norm.weight", norm, {3});
    table.add("second", second, 2, 3);
  }
};

class Doubling : public LinearAdapter {
 public:
  at::Tensor forward(const Linear& linear, const at::Tensor& x) const override { return linear.base(x) * factor; }
  std::vector<at::Tensor> parameters() const override { return {factor}; }
  std::string structure() const override { return "doubling"; }
  at::Tensor factor = at::full({1}, 2.0);
};

class Sum : public Block {
 public:
  Tensors forward(std::span<const at::Tensor> inputs) const override { return {inputs[0] + inputs[1]}; }
  Tensors parameters() const override { return {}; }
  std::string structure() const override { return "sum"; }
};

StateDict weights_of_layers() {
  StateDict weights;
  weights.put("m.second.weight", at::ones({2, 3}));
  weights.put("m.norm.weight", at::ones({3}));
  weights.put("m.first.bias", at::ones({3}));
  weights.put("m.first.weight", at::ones({3, 2}));
  return weights;
}
}  // namespace

void TestWeightTable::loadsAndListsInTheOrderOfRegistration() {
  Layers layers;
  StateDict weights = weights_of_layers();
  layers.table.load(weights, "m.", at::kBFloat16, at::kCPU);
  weights.finish("m");
  QCOMPARE(layers.first.bias.scalar_type(), at::kBFloat16);
  QVERIFY(!layers.second.bias.defined());

  NamedTensors state;
  layers.table.append_state("m.", state);
  std::vector<std::string> keys;
  for (const auto& [key, tensor] : state) keys.push_back(key);
  QCOMPARE(keys, (std::vector<std::string>{"m.first.weight", "m.first.bias", "m.norm.weight", "m.second.weight"}));

  std::vector<std::pair<std::string, std::vector<std::int64_t>>> shapes;
  layers.table.append_shapes("m.", shapes);
  QCOMPARE(shapes.size(), state.size());
  for (std::size_t i = 0; i < state.size(); ++i) {
    QCOMPARE(shapes[i].first, state[i].first);
    QCOMPARE(shapes[i].second, state[i].second.sizes().vec());
  }

  std::vector<NamedLinear> linears;
  layers.table.append_linears("m.", "Block", linears);
  QCOMPARE(linears.size(), std::size_t{2});
  QCOMPARE(linears[1].name, std::string("m.second"));
  QCOMPARE(linears[1].parent_class, std::string("Block"));
  QVERIFY(linears[1].linear == &layers.second);
}

void TestWeightTable::anAdapterReplacesTheProductAndAddsItsWeights() {
  Layers layers;
  StateDict weights = weights_of_layers();
  layers.table.load(weights, "m.", at::kFloat, at::kCPU);
  const at::Tensor x = at::ones({1, 2});
  QCOMPARE(layers.first(x)[0][0].item<float>(), 3.0f);
  QCOMPARE(layers.table.parameters().size(), std::size_t{4});
  QCOMPARE(layers.table.adapters(), std::string());

  layers.first.adapter = std::make_shared<Doubling>();
  QCOMPARE(layers.first(x)[0][0].item<float>(), 6.0f);
  QCOMPARE(layers.table.parameters().size(), std::size_t{5});
  QCOMPARE(layers.table.adapters(), std::string(" first[doubling]"));
}

void TestWeightTable::runsABlockAsItIs() {
  const std::vector<at::Tensor> inputs = {at::ones({2}), at::ones({2})};
  QCOMPARE(run_eagerly(Sum(), 3, inputs)[0].sum().item<float>(), 4.0f);
}

LATHE_TEST(TestWeightTable);
#include "weight_table_test.moc"
