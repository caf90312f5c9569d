#include "app/batch/batch.h"

#include "tests/support/temporary_folder.h"
#include "tests/support/test_main.h"

using namespace lathe;
using lathe::testing::TemporaryFolder;

class TestBatchProgram : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void answersWithItsExitCodes_data();
  void answersWithItsExitCodes();
  void refusesBeforeTheRunBegins();
};

namespace {

int runs_begun = 0;

class NoEngine : public run::Backend {
 public:
  int card_count() override { return 0; }
  run::EndStatus train(const run::Job&, run::EventSink&, run::Control&) override {
    ++runs_begun;
    return run::EndStatus::completed;
  }
  void cache(const run::Job&, run::EventSink&, run::Control&) override { ++runs_begun; }
  void sample(const run::Job&, run::EventSink&, run::Control&) override { ++runs_begun; }
  void write_tiny_models(const std::filesystem::path&) override {}
};

std::unique_ptr<run::Backend> no_engine() {
  return std::make_unique<NoEngine>();
}

}  // namespace

void TestBatchProgram::answersWithItsExitCodes_data() {
  QTest::addColumn<QStringList>("words");
  QTest::addColumn<int>("code");
  QTest::newRow("help") << QStringList{"help"} << 0;
  QTest::newRow("nothing") << QStringList{} << 0;
  QTest::newRow("version") << QStringList{"--version"} << 0;
  QTest::newRow("help of a command") << QStringList{"train", "--help"} << 0;
  QTest::newRow("unknown command") << QStringList{"trian"} << 2;
  QTest::newRow("unknown option") << QStringList{"train", "--no_such_option"} << 2;
  QTest::newRow("missing settings file") << QStringList{"train", "no-such.toml"} << 2;
  QTest::newRow("validate on bare flags") << QStringList{"validate", "--compile", "--torch_compile"} << 2;
  QTest::newRow("inspect nothing") << QStringList{"inspect"} << 2;
  QTest::newRow("inspect what is not there") << QStringList{"inspect", "no-such.safetensors"} << 3;
}

void TestBatchProgram::answersWithItsExitCodes() {
  QFETCH(QStringList, words);
  QFETCH(int, code);
  std::vector<std::string> arguments;
  for (const QString& word : words) arguments.push_back(word.toStdString());
  QCOMPARE(batch::run_batch(arguments, no_engine), code);
}

void TestBatchProgram::refusesBeforeTheRunBegins() {
  runs_begun = 0;
  const TemporaryFolder folder;
  const std::string settings = folder.write("bad.toml", "learning_rat = 1e-4\nmixed_precision = \"fp8\"\n").string();
  QCOMPARE(batch::run_batch({"train", settings}, no_engine), 2);
  QCOMPARE(runs_begun, 0);
}

LATHE_TEST(TestBatchProgram);
#include "batch_program_test.moc"
