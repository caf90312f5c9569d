#include "core/compile/toolchain/host_build.h"

#include "core/base/error.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/test_main.h"

using namespace lathe;
using namespace lathe::toolchain;

class TestHostBuild : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void initTestCase();
  void buildsAndCallsAKernel();
  void takesASecondBuildFromTheCache();
  void givesTheCompilersWords();
  void writesTheProcessorsFeaturesOut();

 private:
  HostCompiler compiler_;
};

namespace {
const char* const kSource = R"(extern "C" __attribute__((visibility("default"))) int twice(int x) { return 2 * x; })";
}

void TestHostBuild::initTestCase() {
  const auto found = find_host_compiler();
  if (!found) QSKIP("no C++ compiler here");
  compiler_ = *found;
}

void TestHostBuild::buildsAndCallsAKernel() {
  const lathe::testing::TemporaryFolder folder;
  KernelCache cache(folder.path() / "kernels");
  const BuiltKernels built = build_on_host(kSource, compiler_, cache);
  QVERIFY(!built.from_cache);
  QCOMPARE(built.library.function<int(int)>("twice")(21), 42);
  QVERIFY(built.library.find("thrice") == nullptr);
}

void TestHostBuild::takesASecondBuildFromTheCache() {
  const lathe::testing::TemporaryFolder folder;
  KernelCache cache(folder.path() / "kernels");
  build_on_host(kSource, compiler_, cache);
  QVERIFY(build_on_host(kSource, compiler_, cache).from_cache);
  HostCompiler other = compiler_;
  other.identity += "another version";
  QVERIFY(!build_on_host(kSource, other, cache).from_cache);
}

void TestHostBuild::givesTheCompilersWords() {
  const lathe::testing::TemporaryFolder folder;
  KernelCache cache(folder.path() / "kernels");
  try {
    build_on_host("int f() { return nonsense; }", compiler_, cache);
    QFAIL("no error");
  } catch (const Error& error) {
    QVERIFY2(QString(error.what()).contains("nonsense"), error.what());
  }
}

void TestHostBuild::writesTheProcessorsFeaturesOut() {
  if (QString::fromStdString(compiler_.identity).contains("clang")) QSKIP("clang names no features");
  for (const std::string& flag : compiler_.flags)
    QVERIFY2(flag != "-march=native", "a shared cache would mix machines");
}

LATHE_TEST(TestHostBuild);
#include "host_build_test.moc"
