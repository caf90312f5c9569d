#include "core/models/common/state_dict.h"

#include "core/base/error.h"
#include "core/models/common/tensor_file.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/tensor_check.h"
#include "tests/support/test_main.h"

using lathe::Error;
using lathe::models::StateDict;

class TestStateDict : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void readsWhatWasWrittenInEveryType_data();
  void readsWhatWasWrittenInEveryType();
  void borrowedTensorsOutliveTheDictionary();
  void renamesAndDropsKeys();
  void opensTheSiblingsOfAPart();
  void castsWhatIsTaken();
  void listsEveryFaultAtOnce();
  void refusesTwoTensorsForOneKey();
};

namespace {
std::string same(const std::string& key) {
  return key;
}

QString message_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return QString::fromUtf8(error.what());
  }
  return {};
}
}  // namespace

void TestStateDict::readsWhatWasWrittenInEveryType_data() {
  QTest::addColumn<int>("type");
  for (const at::ScalarType type : {at::kFloat, at::kDouble, at::kHalf, at::kBFloat16, at::kLong, at::kInt, at::kByte,
                                    at::kBool, at::kFloat8_e4m3fn, at::kFloat8_e5m2}) {
    QTest::newRow(c10::toString(type)) << static_cast<int>(type);
  }
}

void TestStateDict::readsWhatWasWrittenInEveryType() {
  QFETCH(int, type);
  const auto dtype = static_cast<at::ScalarType>(type);
  const at::Tensor values = at::arange(12, at::kFloat).reshape({3, 4}).to(dtype).t();  // not contiguous
  const lathe::testing::TemporaryFolder folder;
  const auto path = folder.path() / "a.safetensors";
  lathe::models::write_tensors(path, {{"values", values}, {"scalar", at::ones({}, dtype)}}, {});

  StateDict weights = StateDict::load(path, same);
  const at::Tensor read = weights.take("values", {4, -1}, dtype, at::kCPU);
  QCOMPARE(read.scalar_type(), dtype);
  QVERIFY(at::equal(read.to(at::kFloat), values.to(at::kFloat)));
  QCOMPARE(weights.take("scalar", {}, dtype, at::kCPU).to(at::kFloat).item<float>(), 1.0f);
  weights.finish("a");
}

void TestStateDict::borrowedTensorsOutliveTheDictionary() {
  const lathe::testing::TemporaryFolder folder;
  const auto path = folder.path() / "a.safetensors";
  lathe::models::write_tensors(path, {{"x", at::full({4096}, 3.0)}}, {});
  at::Tensor read;
  {
    StateDict weights = StateDict::load(path, same);
    read = weights.take("x", {4096}, at::kFloat, at::kCPU);
  }
  QCOMPARE(read.sum().item<float>(), 3.0f * 4096);
}

void TestStateDict::renamesAndDropsKeys() {
  const lathe::testing::TemporaryFolder folder;
  const auto path = folder.path() / "a.safetensors";
  lathe::models::write_tensors(path, {{"net.x", at::ones({2})}, {"other", at::ones({1})}}, {});
  const StateDict weights = StateDict::load(
      path, [](const std::string& key) { return key.rfind("net.", 0) == 0 ? key.substr(4) : std::string(); });
  QCOMPARE(weights.keys(), std::vector<std::string>{"x"});
  QVERIFY(weights.has("x"));
  QCOMPARE(weights.shape("x"), std::vector<std::int64_t>{2});
  QVERIFY(weights.shape("other").empty());
}

void TestStateDict::opensTheSiblingsOfAPart() {
  const lathe::testing::TemporaryFolder folder;
  lathe::models::write_tensors(folder.path() / "m-00001-of-00002.safetensors", {{"a", at::ones({2})}}, {});
  lathe::models::write_tensors(folder.path() / "m-00002-of-00002.safetensors", {{"b", at::ones({3})}}, {});
  const StateDict weights = StateDict::load(folder.path() / "m-00002-of-00002.safetensors", same);
  QCOMPARE(weights.keys(), (std::vector<std::string>{"a", "b"}));
}

void TestStateDict::castsWhatIsTaken() {
  StateDict weights;
  weights.put("x", at::full({1}, 0.1));
  QCOMPARE(weights.take("x", {1}, at::kBFloat16, at::kCPU).item<float>(), 0.10009765625f);
  weights.put("large", at::empty({1 << 20, 1 << 20}, at::TensorOptions().device(at::kMeta)));
  QCOMPARE(weights.take("large", {-1, 1 << 20}, at::kHalf, at::kMeta).scalar_type(), at::kHalf);
}

void TestStateDict::listsEveryFaultAtOnce() {
  StateDict weights;
  weights.put("wide", at::ones({2, 3}));
  weights.put("ignored", at::ones({1}));
  for (int i = 0; i < 12; ++i) weights.put("extra" + std::to_string(i), at::ones({1}));
  weights.ignore("ignored");
  weights.take("wide", {3, 2}, at::kFloat, at::kCPU);
  QCOMPARE(weights.take("absent", {1}, at::kFloat, at::kCPU).numel(), std::int64_t{0});

  const QString text = message_of([&] { weights.finish("loading m"); });
  QVERIFY2(text.startsWith("loading m: 1 missing: absent; 12 unexpected: extra0, "), qPrintable(text));
  QVERIFY2(text.contains("extra7, …; 1 of another shape: wide [2, 3] instead of [3, 2]"), qPrintable(text));
  QVERIFY(!text.contains("extra8"));
  QVERIFY(!text.contains("ignored"));
}

void TestStateDict::refusesTwoTensorsForOneKey() {
  const lathe::testing::TemporaryFolder folder;
  const auto path = folder.path() / "a.safetensors";
  lathe::models::write_tensors(path, {{"a", at::ones({1})}, {"b", at::ones({1})}}, {});
  const QString text = message_of([&] { StateDict::load(path, [](const std::string&) { return "x"; }); });
  QVERIFY2(text.contains("stand for 'x'"), qPrintable(text));
}

LATHE_TEST(TestStateDict);
#include "state_dict_test.moc"
