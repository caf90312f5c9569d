#include <nlohmann/json.hpp>

#include "core/base/error.h"
#include "core/train/lr_schedule.h"
#include "tests/core/train/golden_file.h"
#include "tests/support/golden.h"
#include "tests/support/test_main.h"

using namespace lathe;
using nlohmann::json;

class TestGoldenLrSchedules : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void matchEveryBuiltInRecord();
  void failWhereTheReferenceFails();
  void wouldNoticeAWrongWarmUp();
};

namespace {

config::Steps steps_of(const json& value) {
  if (value.is_number_float()) return {.is_ratio = true, .ratio = value.get<double>()};
  return {.steps = value.get<std::int64_t>()};
}

// The words after `option` up to the next option.
std::vector<std::string> words_of(const json& extra, const std::string& option) {
  std::vector<std::string> result;
  bool inside = false;
  for (const std::string word : extra) {
    if (word.starts_with("--")) {
      inside = word == option;
    } else if (inside) {
      result.push_back(word);
    }
  }
  return result;
}

template <class T>
std::optional<T> maybe(const json& value) {
  return value.is_null() ? std::nullopt : std::optional(value.get<T>());
}

train::LrScheduleOptions options_of(const json& record) {
  const json& parsed = record["parsed"];
  const std::vector<std::string> custom = words_of(record["extra"], "--lr_scheduler_type");
  return {.name = record.value("effective_lr_scheduler", record["lr_scheduler"].get<std::string>()),
          .custom_class = custom.empty() ? "" : custom.front(),
          .arguments = testing::literals(words_of(record["extra"], "--lr_scheduler_args")),
          .warmup_steps = steps_of(parsed["lr_warmup_steps"]),
          .decay_steps = steps_of(parsed["lr_decay_steps"]),
          .num_cycles = parsed["num_cycles"],
          .power = parsed["power"],
          .timescale = maybe<std::int64_t>(parsed["timescale"]),
          .min_lr_ratio = maybe<double>(parsed["min_lr_ratio"]),
          .max_train_steps = record["max_train_steps"],
          .num_processes = record["num_processes"],
          .optimizer_type = record["optimizer_type"],
          .default_learning_rate = record["learning_rate"]};
}

// Largest difference from the record's list, as a share of the base learning rate.
double worst_difference(const train::LrSchedule& schedule, const json& record) {
  const double base = record["learning_rate"];
  double worst = 0.0;
  for (std::size_t k = 0; k < record["lr"].size(); ++k) {
    const double expected = record["lr"][k];
    worst = std::max(worst, std::abs(base * schedule.factor(static_cast<std::int64_t>(k)) - expected) / base);
  }
  return worst;
}

}  // namespace

void TestGoldenLrSchedules::matchEveryBuiltInRecord() {
  LATHE_NEEDS_GOLDEN("anima/lr_schedules.json");
  int checked = 0;
  int left = 0;
  for (const json& record : testing::golden_json("lr_schedules.json")) {
    if (!record.contains("lr")) continue;
    const auto made = train::make_lr_schedule(options_of(record));
    if (const auto* later = std::get_if<train::NotYet>(&made)) {
      ++left;
      qInfo("left for later: %s", later->reason.english().c_str());
      continue;
    }
    ++checked;
    const double worst = worst_difference(std::get<train::LrSchedule>(made), record);
    QVERIFY2(worst <= 1e-9, qPrintable(QStringLiteral("%1: off by %2 of the learning rate")
                                           .arg(QString::fromStdString(record.dump().substr(0, 300)))
                                           .arg(worst)));
  }
  qInfo("%d records checked, %d left for later", checked, left);
  QVERIFY(checked > 0);
}

void TestGoldenLrSchedules::failWhereTheReferenceFails() {
  LATHE_NEEDS_GOLDEN("anima/lr_schedules.json");
  int failed = 0;
  for (const json& record : testing::golden_json("lr_schedules.json")) {
    if (!record.contains("error")) continue;
    QVERIFY_EXCEPTION_THROWN(train::make_lr_schedule(options_of(record)), Error);
    ++failed;
  }
  qInfo("%d records are errors in both", failed);
  QVERIFY(failed > 0);
}

void TestGoldenLrSchedules::wouldNoticeAWrongWarmUp() {
  LATHE_NEEDS_GOLDEN("anima/lr_schedules.json");
  for (const json& record : testing::golden_json("lr_schedules.json")) {
    if (!record.contains("lr") || record["lr_scheduler"] != "cosine" || record["parsed"]["lr_warmup_steps"] == 0)
      continue;
    train::LrScheduleOptions options = options_of(record);
    options.warmup_steps = {.steps = train::resolve_steps(options.warmup_steps, options.max_train_steps) + 1};
    QVERIFY(worst_difference(std::get<train::LrSchedule>(train::make_lr_schedule(options)), record) > 1e-9);
    return;
  }
  QFAIL("no record with a warm-up");
}

LATHE_TEST(TestGoldenLrSchedules);
#include "golden_lr_schedules_test.moc"
