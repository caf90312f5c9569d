#include "app/batch/console.h"

#include <cstdio>

#include "core/base/files.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/test_main.h"

using namespace lathe;
using lathe::testing::TemporaryFolder;

class TestConsole : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void printsFirstAndLastStepWithTimeLeft();
  void keepsAFileFreeOfProgressNoise();
  void refreshesOneLineOnATerminal();
  void saysHowItEndedAndWhatWasSkipped();
};

namespace {

QString printed(bool terminal, const std::vector<run::Body>& events) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "out.txt";
  std::FILE* file = std::fopen(path.c_str(), "wb");
  {
    batch::Console console(file, terminal);
    for (const run::Body& body : events) console.post({0.0, body});
  }
  std::fclose(file);
  return QString::fromStdString(read_text(path));
}

run::StepDone step(std::int64_t number) {
  run::StepDone done;
  done.step = number;
  done.steps = 50;
  done.epoch = done.epochs = 1;
  done.loss = 0.5;
  done.average_loss = 0.75;
  done.seconds = 1.25;
  done.seconds_left = 90;
  return done;
}

}  // namespace

void TestConsole::printsFirstAndLastStepWithTimeLeft() {
  QCOMPARE(printed(false, {step(1)}),
           QString("step 1 of 50, epoch 1 of 1, loss 0.50000 (average 0.75000), 1.250 s a step, 1 min 30 s left\n"));
}

void TestConsole::keepsAFileFreeOfProgressNoise() {
  std::vector<run::Body> events;
  for (int i = 1; i <= 50; ++i) events.emplace_back(step(i));
  const QString text = printed(false, events);
  QCOMPARE(text.count('\n'), 2);  // the first and the last: all within two seconds
  QVERIFY(!text.contains('\r'));
}

void TestConsole::refreshesOneLineOnATerminal() {
  const QString text = printed(true, {step(2), step(3), run::SampleReady{"a.png", 3, 1, 0, "p", 0.5}});
  QCOMPARE(text.count("\r\033[K"), 3);
  QVERIFY(text.endsWith("sample 1 at step 3: a.png (0.5 s)\n"));
}

void TestConsole::saysHowItEndedAndWhatWasSkipped() {
  run::RunEnded ended;
  ended.status = run::EndStatus::completed;
  ended.steps = 50;
  ended.seconds = 61;
  ended.first_loss = 2;
  ended.last_loss = 1;
  ended.counts = {{"skipped files", 3}};
  ended.result = "out/last.safetensors";
  QCOMPARE(printed(false, {ended}), QString("completed after 1 min 1 s, 50 steps, loss 2.00000 first, 1.00000 last\n"
                                            "  skipped files: 3\n  result: out/last.safetensors\n"));
}

LATHE_TEST(TestConsole);
#include "console_test.moc"
