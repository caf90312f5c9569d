#include "core/compile/codegen/cpu_emitter.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <random>

#include "core/compile/toolchain/host_build.h"
#include "tests/core/compile/codegen/sample_kernels.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/test_main.h"

using namespace lathe;
using namespace lathe::ir;
using namespace lathe::testing;

namespace {

// Builds one kernel over values of the given types and calls it.
class Kernels {
 public:
  Kernels() : cache_(folder_.path() / "kernels"), compiler_(toolchain::find_host_compiler()) {}
  bool usable() const { return compiler_.has_value(); }

  void run(const KernelSpec& kernel, const std::vector<Value>& values, std::vector<void*> pointers,
           const std::vector<std::int64_t>& symbols, std::int64_t outer, std::int64_t row) {
    const auto built = toolchain::build_on_host(codegen::emit_cpu({&kernel, 1}, values), *compiler_, cache_);
    std::vector<float> scratch(static_cast<std::size_t>(std::max(1, codegen::row_buffers(kernel)) * row));
    pointers.push_back(scratch.data());
    built.library.function<codegen::CpuKernel>(kernel.name)(pointers.data(), symbols.data(), 0, outer, 0, row);
  }

 private:
  lathe::testing::TemporaryFolder folder_;
  toolchain::KernelCache cache_;
  std::optional<toolchain::HostCompiler> compiler_;
};

// Distance in representable numbers.
double ulps(float got, double exact) {
  const float nearest = static_cast<float>(exact);
  if (std::isnan(got) && std::isnan(nearest)) return 0;
  if (got == nearest) return 0;
  const float next = std::nextafter(nearest, got > nearest ? INFINITY : -INFINITY);
  const double unit = std::abs(static_cast<double>(next) - static_cast<double>(nearest));
  return std::abs(static_cast<double>(got) - exact) / (unit > 0 ? unit : 1e-45);
}

}  // namespace

class TestCpuEmitter : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void initTestCase();
  void computesFunctionsWithinTwoUlp_data();
  void computesFunctionsWithinTwoUlp();
  void normalisesRowsOfAnyLength_data();
  void normalisesRowsOfAnyLength();
  void readsBroadcastAndTransposedValues();
  void runsAlongTheRow();
  void readsNothingWhereTheConditionIsFalse();
  void comparesInThePrecisionOfTheValues();
  void writesKernelsOfOneNameOnce();
  void splitsARowOnlyWithoutReductions();

 private:
  Kernels kernels_;
};

void TestCpuEmitter::initTestCase() {
  if (!kernels_.usable()) QSKIP("no C++ compiler here");
}

void TestCpuEmitter::computesFunctionsWithinTwoUlp_data() {
  QTest::addColumn<int>("function");
  QTest::addColumn<double>("range");
  QTest::newRow("exp") << static_cast<int>(ExprOp::exp) << 90.0;
  QTest::newRow("expm1") << static_cast<int>(ExprOp::expm1) << 20.0;
  QTest::newRow("tanh") << static_cast<int>(ExprOp::tanh) << 12.0;
  QTest::newRow("erf") << static_cast<int>(ExprOp::erf) << 5.0;
}

void TestCpuEmitter::computesFunctionsWithinTwoUlp() {
  QFETCH(int, function);
  QFETCH(double, range);
  const auto which = static_cast<ExprOp>(function);
  const auto exact = [which](double x) {
    switch (which) {
      case ExprOp::exp:
        return std::exp(x);
      case ExprOp::expm1:
        return std::expm1(x);
      case ExprOp::tanh:
        return std::tanh(x);
      default:
        return std::erf(x);
    }
  };
  std::vector<float> x = {0.0f, -0.0f, INFINITY, -INFINITY, NAN, 1e-30f, -1e-30f, 0.65f, 0.95f, 4.0f};
  std::mt19937 random(1);
  std::uniform_real_distribution<float> wide(static_cast<float>(-range), static_cast<float>(range)),
      narrow(-1.2f, 1.2f);
  for (int i = 0; i < 200000; ++i) x.push_back(i % 2 == 0 ? wide(random) : narrow(random));
  std::vector<float> y(x.size());

  KernelSpec kernel;
  kernel.name = "pointwise";
  kernel.domain = {Size::symbol(0)};
  kernel.symbols = {0};
  kernel.exprs = {load(0, {Size(1)}), op(which, {0})};
  kernel.stores = {{1, {1, {Size(1)}, Size(0)}, false}};
  kernel.inputs = {0};
  kernel.outputs = {1};
  const auto count = static_cast<std::int64_t>(x.size());
  kernels_.run(kernel, {value(DType::f32), value(DType::f32)}, {x.data(), y.data()}, {count}, 1, count);

  double worst = 0;
  float at = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double off = ulps(y[i], exact(static_cast<double>(x[i])));
    if (!(off <= worst)) {
      worst = off;
      at = x[i];
    }
  }
  QVERIFY2(worst <= 2.0, qPrintable(QString("%1 ulp at %2").arg(worst).arg(static_cast<double>(at))));
}

void TestCpuEmitter::normalisesRowsOfAnyLength_data() {
  QTest::addColumn<int>("length");
  QTest::addColumn<bool>("half");
  for (const int length : {1, 15, 16, 17, 100, 2048}) {
    QTest::addRow("f32 %d", length) << length << false;
    QTest::addRow("bf16 %d", length) << length << true;
  }
}

void TestCpuEmitter::normalisesRowsOfAnyLength() {
  QFETCH(int, length);
  QFETCH(bool, half);
  constexpr int rows = 3;
  std::mt19937 random(2);
  std::normal_distribution<float> normal(0.5f, 2.0f);
  std::vector<float> x(static_cast<std::size_t>(rows * length)), y(x.size()), mean(rows);
  for (float& item : x) item = normal(random);
  std::vector<std::uint16_t> x_half, y_half(x.size());
  for (float& item : x) {
    x_half.push_back(static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(item) >> 16));
    if (half) item = std::bit_cast<float>(std::uint32_t{x_half.back()} << 16);
  }
  const DType type = half ? DType::bf16 : DType::f32;
  void* in = half ? static_cast<void*>(x_half.data()) : x.data();
  void* out = half ? static_cast<void*>(y_half.data()) : y.data();
  kernels_.run(layer_norm(half), {value(type), value(type), value(DType::f32)}, {in, out, mean.data()}, {rows, length},
               rows, length);

  for (int row = 0; row < rows; ++row) {
    double sum = 0, square = 0;
    const float* at = x.data() + row * length;
    for (int i = 0; i < length; ++i) sum += static_cast<double>(at[i]);
    const double middle = sum / length;
    for (int i = 0; i < length; ++i) square += std::pow(static_cast<double>(at[i]) - middle, 2);
    const double spread = std::sqrt(square / length + 1e-6);
    QVERIFY(std::abs(static_cast<double>(mean[static_cast<std::size_t>(row)]) - middle) < 1e-5);
    for (int i = 0; i < length; ++i) {
      const auto place = static_cast<std::size_t>(row * length + i);
      const float got = half ? std::bit_cast<float>(std::uint32_t{y_half[place]} << 16) : y[place];
      const double expected = (static_cast<double>(at[i]) - middle) / spread;
      QVERIFY(std::abs(static_cast<double>(got) - expected) <=
              (half ? 0.004 : 2e-5) * std::max(1.0, std::abs(expected)));
    }
  }
}

void TestCpuEmitter::readsBroadcastAndTransposedValues() {
  // out[i, j] = a[j, i] > b[j] ? a[j, i] : -1, for 2 x 3.
  KernelSpec kernel;
  kernel.name = "mixed";
  kernel.domain = {Size(2), Size(3)};
  kernel.exprs = {load(0, {Size(1), Size(2)}), load(1, {Size(0), Size(1)}),
                  op(ExprOp::greater, {0, 1}, 0, DType::boolean), constant(-1), op(ExprOp::select, {2, 0, 3})};
  kernel.stores = {{4, {2, {Size(3), Size(1)}, Size(0)}, false}};
  kernel.inputs = {0, 1};
  kernel.outputs = {2};
  std::vector<float> a = {1, 2, 3, 4, 5, 6}, b = {1.5f, 2.5f, 9.0f}, out(6);
  kernels_.run(kernel, std::vector<Value>(3, value(DType::f32)), {a.data(), b.data(), out.data()}, {}, 2, 3);
  QCOMPARE(out, (std::vector<float>{-1, 3, -1, 2, 4, -1}));
}

void TestCpuEmitter::runsAlongTheRow() {
  // Running sum, kept in the row buffer, divided by the row's sum.
  KernelSpec kernel;
  kernel.name = "cumulative";
  kernel.domain = {Size(2), Size(5)};
  kernel.exprs = {load(0, {Size(5), Size(1)}), op(ExprOp::cumulative_sum, {0}), op(ExprOp::reduce_sum, {0}),
                  op(ExprOp::div, {1, 2}, 1)};
  kernel.exprs[1].keep_in_row_buffer = true;
  kernel.stores = {{3, {1, {Size(5), Size(1)}, Size(0)}, false}};
  kernel.inputs = {0};
  kernel.outputs = {1};
  kernel.sweeps = 2;
  std::vector<float> x = {1, 1, 1, 1, 4, 2, 2, 2, 2, 2}, out(10);
  kernels_.run(kernel, std::vector<Value>(2, value(DType::f32)), {x.data(), out.data()}, {}, 2, 5);
  QCOMPARE(out, (std::vector<float>{0.125f, 0.25f, 0.375f, 0.5f, 1.0f, 0.2f, 0.4f, 0.6f, 0.8f, 1.0f}));
}

void TestCpuEmitter::readsNothingWhereTheConditionIsFalse() {
  // out[j] = j < 2 ? a[j] : b[j - 2], the concatenation of two pieces; an address before b is never read.
  KernelSpec kernel;
  kernel.name = "pieces";
  kernel.domain = {Size(5)};
  Expr place;
  place.op = ExprOp::index;
  place.dtype = DType::i64;
  Expr bound = constant(2);
  bound.dtype = DType::i64;
  kernel.exprs = {place,
                  bound,
                  op(ExprOp::less, {0, 1}, 0, DType::boolean),
                  op(ExprOp::logical_not, {2}, 0, DType::boolean),
                  load(0, {Size(1)}),
                  load(1, {Size(1)}),
                  op(ExprOp::select, {2, 4, 5})};
  kernel.exprs[4].arguments = {2};
  kernel.exprs[5].arguments = {3};
  kernel.exprs[5].access.offset = Size(-2);
  kernel.stores = {{6, {2, {Size(1)}, Size(0)}, false}};
  kernel.inputs = {0, 1};
  kernel.outputs = {2};
  std::vector<float> a = {1, 2}, b = {3, 4, 5}, out(5);
  kernels_.run(kernel, std::vector<Value>(3, value(DType::f32)), {a.data(), b.data(), out.data()}, {}, 1, 5);
  QCOMPARE(out, (std::vector<float>{1, 2, 3, 4, 5}));
}

void TestCpuEmitter::comparesInThePrecisionOfTheValues() {
  KernelSpec kernel;
  kernel.name = "larger";
  kernel.domain = {Size(2)};
  kernel.exprs = {load(0, {Size(1)}, DType::f64), load(1, {Size(1)}, DType::f64),
                  op(ExprOp::maximum, {0, 1}, 0, DType::f64)};
  kernel.stores = {{2, {2, {Size(1)}, Size(0)}, false}};
  kernel.inputs = {0, 1};
  kernel.outputs = {2};
  std::vector<double> a = {1.0 + 1e-12, 2.0}, b = {1.0, 3.0}, out(2);
  kernels_.run(kernel, std::vector<Value>(3, value(DType::f64)), {a.data(), b.data(), out.data()}, {}, 1, 2);
  QCOMPARE(out, (std::vector<double>{1.0 + 1e-12, 3.0}));
}

void TestCpuEmitter::writesKernelsOfOneNameOnce() {
  std::vector<KernelSpec> kernels(2, layer_norm(false));
  const std::vector<Value> values(3, value(DType::f32));
  QCOMPARE(codegen::emit_cpu(kernels, values), codegen::emit_cpu({kernels.data(), 1}, values));
}

void TestCpuEmitter::splitsARowOnlyWithoutReductions() {
  QVERIFY(!codegen::splits_row(layer_norm(false)));
  KernelSpec kernel;
  kernel.exprs = {load(0, {Size(1)}), op(ExprOp::exp, {0})};
  QVERIFY(codegen::splits_row(kernel));
}

LATHE_TEST(TestCpuEmitter);
#include "cpu_emitter_test.moc"
