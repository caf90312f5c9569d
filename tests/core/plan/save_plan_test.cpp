#include "core/plan/save_plan.h"

#include "tests/support/test_main.h"

using namespace lathe;
using namespace lathe::plan;
using config::Settings;
using config::Source;

namespace {

Settings settings_of(std::initializer_list<std::pair<const char*, config::Value>> values) {
  Settings settings;
  for (const auto& [name, value] : values) settings.set(name, value, Source::command_line);
  return settings;
}

config::Value integer(std::int64_t value) {
  return value;
}
config::Value text(const char* value) {
  return std::string(value);
}

QString adapters(const std::vector<Save>& saves) {
  QStringList all;
  for (const Save& save : saves) all << QString::fromStdString(save.adapter);
  return all.join(' ');
}

QString outdated(const std::vector<Save>& saves) {
  QStringList all;
  for (const Save& save : saves) {
    if (!save.outdated_adapter.empty()) all << QString::fromStdString(save.outdated_adapter);
  }
  return all.join(' ');
}

}  // namespace

class TestSavePlan : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void lengthFollowsTheReferencesRule_data();
  void lengthFollowsTheReferencesRule();
  void epochsWinAndSaySo();
  void namesAreTheReferences();
  void namesHaveDefaults();
  void epochSavesLeaveTheLastEpochOut();
  void theEpochRatioSetsTheInterval();
  void oldEpochsGo();
  void oldStepsGo();
  void statesFollowTheirOwnLimit();
  void askedStepByStepItGivesTheSame();
  void samplesFollowEpochsWhereBothAreSet();
};

void TestSavePlan::lengthFollowsTheReferencesRule_data() {
  QTest::addColumn<int>("batches");
  QTest::addColumn<int>("accumulation");
  QTest::addColumn<int>("epochs_asked");  // 0: unset
  QTest::addColumn<int>("steps_asked");
  QTest::addColumn<int>("epochs");
  QTest::addColumn<int>("steps");
  QTest::newRow("epochs") << 7 << 1 << 10 << 1600 << 10 << 70;
  QTest::newRow("the last group of an epoch is short") << 7 << 2 << 10 << 1600 << 10 << 40;
  QTest::newRow("steps") << 7 << 2 << 0 << 10 << 3 << 10;
  QTest::newRow("steps end an epoch early") << 100 << 1 << 0 << 30 << 1 << 30;
  QTest::newRow("fewer batches than a group") << 3 << 4 << 5 << 1600 << 5 << 5;
  QTest::newRow("nothing to train on") << 0 << 1 << 5 << 1600 << 0 << 0;
}

void TestSavePlan::lengthFollowsTheReferencesRule() {
  QFETCH(int, batches);
  QFETCH(int, accumulation);
  QFETCH(int, epochs_asked);
  QFETCH(int, steps_asked);
  Settings settings =
      settings_of({{"gradient_accumulation_steps", integer(accumulation)}, {"max_train_steps", integer(steps_asked)}});
  if (epochs_asked > 0) settings.set("max_train_epochs", integer(epochs_asked), Source::command_line);
  const RunLength length = run_length(batches, settings);
  QTEST(static_cast<int>(length.epochs), "epochs");
  QTEST(static_cast<int>(length.steps), "steps");
}

void TestSavePlan::epochsWinAndSaySo() {
  config::Findings findings;
  Settings settings = settings_of({{"max_train_epochs", integer(10)}});
  explain_run_length(run_length(7, settings), settings, findings);
  QVERIFY(findings.all().empty());  // the default of max_train_steps is nobody's wish
  settings.set("max_train_steps", integer(500), Source::file);
  explain_run_length(run_length(7, settings), settings, findings);
  QCOMPARE(findings.all().size(), std::size_t{1});
  QVERIFY(QString::fromStdString(findings.all()[0].english()).contains("70 steps"));
}

void TestSavePlan::namesAreTheReferences() {
  const Settings settings = settings_of({{"output_name", text("ada")},
                                         {"save_every_n_epochs", integer(1)},
                                         {"save_every_n_steps", integer(3)},
                                         {"save_state", config::Value(true)},
                                         {"max_train_epochs", integer(2)}});
  const auto saves = SavePlan(settings, run_length(4, settings)).all();
  QCOMPARE(adapters(saves), QString("ada-step00000003.safetensors ada-000001.safetensors ada-step00000006.safetensors "
                                    "ada.safetensors"));
  QCOMPARE(saves[0].state, std::string("ada-step00000003-state"));
  QCOMPARE(saves[1].state, std::string("ada-000001-state"));
  QCOMPARE(saves[3].state, std::string("ada-state"));
  QCOMPARE(saves[2].epoch, std::int64_t{2});
  QCOMPARE(saves[1].step, std::int64_t{4});
}

void TestSavePlan::namesHaveDefaults() {
  const Settings settings = settings_of(
      {{"save_every_n_epochs", integer(1)}, {"save_every_n_steps", integer(2)}, {"max_train_epochs", integer(2)}});
  const auto saves = SavePlan(settings, run_length(2, settings)).all();
  QCOMPARE(adapters(saves), QString("at-step00000002.safetensors epoch-000001.safetensors at-step00000004.safetensors "
                                    "last.safetensors"));
  QVERIFY(saves.back().state.empty());
}

void TestSavePlan::epochSavesLeaveTheLastEpochOut() {
  const Settings settings =
      settings_of({{"output_name", text("a")}, {"save_every_n_epochs", integer(2)}, {"max_train_epochs", integer(6)}});
  QCOMPARE(adapters(SavePlan(settings, run_length(1, settings)).all()),
           QString("a-000002.safetensors a-000004.safetensors a.safetensors"));
}

void TestSavePlan::theEpochRatioSetsTheInterval() {
  Settings settings = settings_of({{"save_n_epoch_ratio", integer(3)}, {"max_train_epochs", integer(10)}});
  QCOMPARE(*SavePlan(settings, run_length(1, settings)).every_n_epochs(), std::int64_t{3});
  settings.set("save_n_epoch_ratio", integer(20), Source::command_line);
  QCOMPARE(*SavePlan(settings, run_length(1, settings)).every_n_epochs(), std::int64_t{1});
}

void TestSavePlan::oldEpochsGo() {
  const Settings settings = settings_of({{"output_name", text("a")},
                                         {"save_every_n_epochs", integer(2)},
                                         {"save_last_n_epochs", integer(2)},
                                         {"max_train_epochs", integer(9)}});
  QCOMPARE(outdated(SavePlan(settings, run_length(1, settings)).all()),
           QString("a-000002.safetensors a-000004.safetensors"));  // at epochs 6 and 8
}

// save_every_n_steps 10, save_last_n_steps 30: at step 50 the one of step 10 goes.
void TestSavePlan::oldStepsGo() {
  const Settings settings = settings_of({{"output_name", text("a")},
                                         {"save_every_n_steps", integer(10)},
                                         {"save_last_n_steps", integer(30)},
                                         {"max_train_steps", integer(60)}});
  const SavePlan plan(settings, run_length(1000, settings));
  QVERIFY(plan.after_step(40)->outdated_adapter.empty());
  QCOMPARE(plan.after_step(50)->outdated_adapter, std::string("a-step00000010.safetensors"));
  QCOMPARE(plan.after_step(60)->outdated_adapter, std::string("a-step00000020.safetensors"));
  QVERIFY(!plan.after_step(55));
}

void TestSavePlan::statesFollowTheirOwnLimit() {
  const Settings settings = settings_of({{"save_every_n_steps", integer(10)},
                                         {"save_last_n_steps", integer(30)},
                                         {"save_last_n_steps_state", integer(10)},
                                         {"save_state", config::Value(true)}});
  const auto save = SavePlan(settings, run_length(1000, settings)).after_step(50);
  QCOMPARE(save->outdated_adapter, std::string("at-step00000010.safetensors"));
  QCOMPARE(save->outdated_state, std::string("at-step00000030-state"));
}

void TestSavePlan::askedStepByStepItGivesTheSame() {
  const Settings settings = settings_of({{"output_name", text("a")},
                                         {"save_every_n_epochs", integer(2)},
                                         {"save_every_n_steps", integer(4)},
                                         {"save_last_n_steps", integer(8)},
                                         {"save_last_n_epochs", integer(1)},
                                         {"save_state", config::Value(true)},
                                         {"gradient_accumulation_steps", integer(2)},
                                         {"max_train_steps", integer(23)}});
  const RunLength length = run_length(5, settings);  // 3 steps an epoch, 8 epochs, the last one ends early
  const SavePlan plan(settings, length);
  std::vector<Save> asked;
  std::int64_t step = 0;
  for (std::int64_t epoch = 1; epoch <= length.epochs; ++epoch) {
    for (std::int64_t i = 0; i < length.steps_per_epoch && step < length.steps; ++i) {
      if (auto save = plan.after_step(++step)) asked.push_back(*save);
    }
    if (auto save = plan.after_epoch(epoch, step)) asked.push_back(*save);
  }
  asked.push_back(plan.at_end(step, length.epochs));
  QVERIFY(asked == plan.all());
  QCOMPARE(asked.size(), std::size_t{5 + 3 + 1});
}

void TestSavePlan::samplesFollowEpochsWhereBothAreSet() {
  Settings settings = settings_of({{"sample_every_n_steps", integer(5)}, {"max_train_steps", integer(40)}});
  const RunLength length = run_length(10, settings);
  QCOMPARE(SamplePlan(settings).count(length), std::int64_t{0});  // no prompts
  settings.set("sample_prompts", text("prompts.txt"), Source::command_line);
  QCOMPARE(SamplePlan(settings).count(length), std::int64_t{8});
  settings.set("sample_at_first", true, Source::command_line);
  settings.set("sample_every_n_epochs", integer(2), Source::command_line);
  const SamplePlan plan(settings);
  QCOMPARE(plan.count(length), std::int64_t{3});
  QVERIFY(!plan.after_step(5) && plan.after_epoch(2) && !plan.after_epoch(3));
}

LATHE_TEST(TestSavePlan);
#include "save_plan_test.moc"
