#include "core/run/recorder.h"

#include "core/io/json_lines.h"
#include "core/io/tfevents.h"
#include "core/run/event_files.h"
#include "core/run/events_json.h"
#include "core/run/run_folder.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/test_main.h"

using namespace lathe;
using namespace lathe::run;
using lathe::testing::TemporaryFolder;

class TestRecorder : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void sumsARunUp();
  void writesEventsThatReadBack();
  void writesTheTrackersNames();
  void givesEveryRunAFolderOfItsOwn();
};

namespace {

class Collect : public EventSink {
 public:
  void post(Event event) override { events.push_back(std::move(event)); }
  std::vector<Event> events;
};

StepDone step(std::int64_t number, double loss) {
  StepDone done;
  done.step = number;
  done.loss = loss;
  done.average_loss = loss / 2;
  done.learning_rates = {{"unet", 1e-3}};
  return done;
}

}  // namespace

void TestRecorder::sumsARunUp() {
  Collect out;
  Summary summary(out);
  summary.post({1, step(1, 3.0)});
  summary.post({2, step(2, 2.0)});
  summary.post({3, Warning{config::Severity::warning, {}, 0, "skipped files"}});
  summary.post({4, Warning{config::Severity::warning, {}, 0, "skipped files"}});
  summary.post({5, CheckpointSaved{SavedKind::adapter, "a.safetensors", 2, 1, 10, 0.1, true}});
  summary.end(EndStatus::completed);
  const auto& ended = std::get<RunEnded>(out.events.back().body);
  QCOMPARE(ended.steps, std::int64_t{2});
  QCOMPARE(ended.first_loss, 3.0);
  QCOMPARE(ended.last_loss, 2.0);
  QVERIFY(ended.result == "a.safetensors");
  QCOMPARE(ended.counts, (std::vector<std::pair<std::string, std::int64_t>>{{"skipped files", 2}}));
}

void TestRecorder::writesEventsThatReadBack() {
  const TemporaryFolder folder;
  {
    EventFile file(folder.path() / "events.jsonl");
    file.post({1.5, step(1, 3.0)});
    file.post({2.5, Metric{"a", 1, 2.0}});
    QCOMPARE(file.dropped(), std::uint64_t{0});
  }
  const io::JsonLines lines = io::read_json_lines(folder.path() / "events.jsonl");
  QCOMPARE(lines.values.size(), std::size_t{2});
  const auto first = event_from_json_value(lines.values[0]);
  QVERIFY(first.has_value());
  QCOMPARE(std::get<StepDone>(first->body).loss, 3.0);
}

void TestRecorder::writesTheTrackersNames() {
  const TemporaryFolder folder;
  {
    TensorBoardFile file(folder.path() / "log");
    file.post({1.5, step(7, 3.0)});
    file.post({1.6, Metric{"loss/epoch_average", 2, 0.5}});
    file.post({1.7, SampleReady{}});
  }
  const auto path = std::filesystem::directory_iterator(folder.path() / "log")->path();
  const io::TfEvents read = io::read_tfevents(path);
  QVERIFY(read.problem.empty());
  QCOMPARE(read.events.size(), std::size_t{3});  // the version comes first
  QCOMPARE(read.events[1].step, std::int64_t{7});
  QCOMPARE(read.events[1].scalars[0].tag, std::string("loss/current"));
  QCOMPARE(read.events[1].scalars[2].tag, std::string("lr/unet"));
  QCOMPARE(read.events[2].scalars[0].tag, std::string("loss/epoch_average"));
}

void TestRecorder::givesEveryRunAFolderOfItsOwn() {
  const TemporaryFolder folder;
  const RunFolder a = create_run_folder(folder.path() / "out", "na/me");
  const RunFolder b = create_run_folder(folder.path() / "out", "na/me");
  QVERIFY(a.path != b.path);
  QVERIFY(std::filesystem::is_directory(a.path) && std::filesystem::is_directory(b.path));
  QVERIFY(a.path.parent_path() == folder.path() / "out" / "lathe-runs");
}

LATHE_TEST(TestRecorder);
#include "recorder_test.moc"
