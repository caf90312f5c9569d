#include "core/run/events_json.h"

#include <cmath>

#include "tests/support/test_main.h"

using namespace lathe;
using namespace lathe::run;

class TestEventsJson : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void readsBackWhatItWrote_data();
  void readsBackWhatItWrote();
  void keepsALossThatIsNoNumber();
  void skipsACutOrForeignLine_data();
  void skipsACutOrForeignLine();
};

namespace {

constexpr TextId kText = LATHE_TEXT("test.text", "{} of {}");

std::vector<Body> one_of_each() {
  StepDone step;
  step.step = 3;
  step.steps = 10;
  step.loss = 0.25;
  step.learning_rates = {{"unet", 1e-4}};
  step.buckets = {"512x768"};
  step.memory_used = 1u << 31;
  CompileReport report;
  report.kind = CompileKind::recompile;
  report.cause = message(kText, 1, 2);
  RunEnded ended;
  ended.status = EndStatus::stopped;
  ended.counts = {{"skipped files", 2}};
  return {PhaseChanged{Phase::caching_text, 3, 4, 1.5, message(kText, 3, 4)},
          step,
          report,
          SampleReady{"a/b.png", 1, 2, 0, "a \"cat\" 猫", 0.5},
          CheckpointSaved{SavedKind::state, "x-state", 5, 1, 10, 0.1, true},
          Metric{"loss/epoch_average", 1, 0.5},
          Warning{config::Severity::note, message(kText, "a", "b"), 3, "group"},
          RunFailed{message(kText, "a", "b"), "file", "last.safetensors"},
          ended};
}

}  // namespace

void TestEventsJson::readsBackWhatItWrote_data() {
  QTest::addColumn<int>("index");
  for (int i = 0; i < static_cast<int>(one_of_each().size()); ++i) QTest::addRow("%d", i) << i;
}

void TestEventsJson::readsBackWhatItWrote() {
  QFETCH(int, index);
  const std::string line = to_json({12.5, one_of_each().at(index)});
  QVERIFY(line.find('\n') == std::string::npos);
  const auto event = event_from_json(line);
  QVERIFY(event.has_value());
  QCOMPARE(event->body.index(), one_of_each().at(index).index());
  QCOMPARE(to_json(*event), line);
}

void TestEventsJson::keepsALossThatIsNoNumber() {
  StepDone step;
  step.loss = std::nan("");
  const auto event = event_from_json(to_json({0.0, step}));
  QVERIFY(event.has_value());
  QVERIFY(std::isnan(std::get<StepDone>(event->body).loss));
}

void TestEventsJson::skipsACutOrForeignLine_data() {
  QTest::addColumn<QString>("line");
  QTest::newRow("empty") << "";
  QTest::newRow("cut") << R"({"type":"metric","na)";
  QTest::newRow("no object") << "[1]";
  QTest::newRow("later version") << R"({"type":"telepathy","time":1})";
  QTest::newRow("member missing") << R"({"type":"metric","time":1,"name":"a"})";
}

void TestEventsJson::skipsACutOrForeignLine() {
  QFETCH(QString, line);
  QVERIFY(!event_from_json(line.toStdString()).has_value());
}

LATHE_TEST(TestEventsJson);
#include "events_json_test.moc"
