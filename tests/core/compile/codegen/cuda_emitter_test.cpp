#include "core/compile/codegen/cuda_emitter.h"

#include "core/base/error.h"
#include "core/compile/toolchain/nvrtc_build.h"
#include "tests/core/compile/codegen/sample_kernels.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/test_main.h"

using namespace lathe;
using namespace lathe::ir;
using namespace lathe::testing;

class TestCudaEmitter : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void initTestCase();
  void buildsForEveryCard_data();
  void buildsForEveryCard();
  void choosesHowThreadsShareTheDomain();
  void givesTheCompilersWords();
  void keepsCubins();

 private:
  std::shared_ptr<toolchain::Nvrtc> nvrtc_;
};

namespace {

// Every operator on f32 and, where a library function differs, on f64.
KernelSpec every_operator(DType dtype) {
  KernelSpec kernel;
  kernel.name = dtype == DType::f64 ? "every_operator_f64" : "every_operator";
  kernel.domain = {Size::symbol(0), Size::symbol(1)};
  kernel.symbols = {0, 1};
  kernel.inputs = {0};
  kernel.outputs = {1};
  const std::vector<Size> dense = {Size::symbol(1), Size(1)};
  kernel.exprs = {load(0, dense, dtype)};
  std::int32_t last = 0;
  const auto add = [&](ExprOp what, std::vector<std::int32_t> arguments, DType type) {
    kernel.exprs.push_back(op(what, std::move(arguments), 0, type));
    return static_cast<std::int32_t>(kernel.exprs.size()) - 1;
  };
  for (const ExprOp what : {ExprOp::neg, ExprOp::abs, ExprOp::sqrt, ExprOp::rsqrt, ExprOp::reciprocal, ExprOp::exp,
                            ExprOp::expm1, ExprOp::log, ExprOp::log1p, ExprOp::sin, ExprOp::cos, ExprOp::tanh,
                            ExprOp::erf, ExprOp::sigmoid, ExprOp::floor, ExprOp::ceil, ExprOp::round}) {
    last = add(what, {last}, dtype);
  }
  for (const ExprOp what : {ExprOp::add, ExprOp::sub, ExprOp::mul, ExprOp::div, ExprOp::pow})
    last = add(what, {last, 0}, dtype);
  const std::int32_t less = add(ExprOp::less, {last, 0}, DType::boolean);
  const std::int32_t neither = add(ExprOp::logical_not, {less}, DType::boolean);
  last = add(ExprOp::select, {neither, last, 0}, dtype);
  kernel.stores = {{last, {1, dense, Size(0)}, false}};
  return kernel;
}

KernelSpec running_sum() {
  KernelSpec kernel;
  kernel.name = "running_sum";
  kernel.domain = {Size::symbol(0), Size(8)};
  kernel.symbols = {0};
  kernel.exprs = {load(0, {Size(8), Size(1)}), op(ExprOp::cumulative_sum, {0}), op(ExprOp::reduce_sum, {0}),
                  op(ExprOp::div, {1, 2}, 1)};
  kernel.stores = {{3, {1, {Size(8), Size(1)}, Size(0)}, false}};
  kernel.inputs = {0};
  kernel.outputs = {1};
  kernel.sweeps = 2;
  return kernel;
}

std::string source_of_all() {
  const std::vector<Value> single(3, value(DType::f32));
  std::string source =
      codegen::emit_cuda(std::vector<KernelSpec>{layer_norm(false), every_operator(DType::f32), running_sum()}, single);
  return source;
}

}  // namespace

void TestCudaEmitter::initTestCase() {
  std::string why;
  nvrtc_ = toolchain::Nvrtc::open({}, &why);
  if (!nvrtc_) QSKIP(qPrintable(QString::fromStdString("NVRTC is not here: " + why)));
}

void TestCudaEmitter::buildsForEveryCard_data() {
  QTest::addColumn<int>("architecture");
  for (const int architecture : {80, 89, 90, 120}) QTest::addRow("sm_%d", architecture) << architecture;
}

void TestCudaEmitter::buildsForEveryCard() {
  QFETCH(int, architecture);
  QVERIFY(nvrtc_->build(source_of_all(), architecture).size() > 1000);
  const std::vector<Value> half = {value(DType::bf16), value(DType::f16), value(DType::f32)};
  QVERIFY(!nvrtc_->build(codegen::emit_cuda(std::vector<KernelSpec>{layer_norm(true)}, half), architecture).empty());
  const std::vector<Value> twice(2, value(DType::f64));
  QVERIFY(!nvrtc_->build(codegen::emit_cuda(std::vector<KernelSpec>{every_operator(DType::f64)}, twice), architecture)
               .empty());
}

void TestCudaEmitter::choosesHowThreadsShareTheDomain() {
  QVERIFY(codegen::mapping(layer_norm(false)) == codegen::CudaMapping::block_a_row);
  QVERIFY(codegen::mapping(every_operator(DType::f32)) == codegen::CudaMapping::elements);
  QVERIFY(codegen::mapping(running_sum()) == codegen::CudaMapping::thread_a_row);
}

void TestCudaEmitter::givesTheCompilersWords() {
  try {
    nvrtc_->build("extern \"C\" __global__ void f() { nonsense; }", 80);
    QFAIL("no error");
  } catch (const Error& error) {
    QVERIFY2(QString(error.what()).contains("nonsense"), error.what());
  }
}

void TestCudaEmitter::keepsCubins() {
  const TemporaryFolder folder;
  toolchain::KernelCache cache(folder.path() / "kernels");
  const auto first = toolchain::build_cubin(source_of_all(), 90, *nvrtc_, cache);
  const auto second = toolchain::build_cubin(source_of_all(), 90, *nvrtc_, cache);
  QVERIFY(!first.from_cache && second.from_cache);
  QVERIFY(first.bytes == second.bytes);
  QVERIFY(!toolchain::build_cubin(source_of_all(), 89, *nvrtc_, cache).from_cache);
}

LATHE_TEST(TestCudaEmitter);
#include "cuda_emitter_test.moc"
