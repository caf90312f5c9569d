#include "core/base/subprocess.h"

#include "core/base/error.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/test_main.h"

using namespace lathe;

class TestSubprocess : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void givesOutputAndExitCode();
  void takesWordsAsTheyAre();
  void runsInAFolderWithAnEnvironment();
  void killsWhatRunsTooLong();
  void saysThatAProgramIsMissing();
};

void TestSubprocess::givesOutputAndExitCode() {
  const ProcessResult result = run_process({{"sh", "-c", "echo out; echo err >&2; exit 3"}, {}, {}, 10});
  QCOMPARE(result.exit_code, 3);
  QCOMPARE(result.output, std::string("out\nerr\n"));
}

void TestSubprocess::takesWordsAsTheyAre() {
  QCOMPARE(run_process({{"printf", "%s", "a b;$HOME \"c\""}, {}, {}, 10}).output, std::string("a b;$HOME \"c\""));
}

void TestSubprocess::runsInAFolderWithAnEnvironment() {
  const lathe::testing::TemporaryFolder folder;
  folder.write("here.txt", "");
  const ProcessResult result =
      run_process({{"sh", "-c", "ls; printf %s \"$LATHE_X\""}, folder.path(), {{"LATHE_X", "y"}}, 10});
  QCOMPARE(result.output, std::string("here.txt\ny"));
}

void TestSubprocess::killsWhatRunsTooLong() {
  const ProcessResult result = run_process({{"sh", "-c", "sleep 60 & wait"}, {}, {}, 0.2});
  QVERIFY(result.timed_out);
  QVERIFY(result.exit_code != 0);
}

void TestSubprocess::saysThatAProgramIsMissing() {
  QVERIFY_EXCEPTION_THROWN(run_process({{"no-such-program-here"}, {}, {}, 10}), Error);
  QVERIFY(!find_program("no-such-program-here").has_value());
  QVERIFY(find_program("sh").has_value());
}

LATHE_TEST(TestSubprocess);
#include "subprocess_test.moc"
