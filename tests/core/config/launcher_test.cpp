#include <algorithm>

#include "core/config/args.h"
#include "core/config/value_text.h"
#include "tests/core/config/compare.h"
#include "tests/support/test_main.h"

using namespace lathe::config;

namespace {

struct Said {
  Settings settings;
  std::vector<std::string> errors, warnings, notes;
};

Said parse(const std::string& line) {
  Findings findings;
  Said said{parse_arguments(split_words(line), findings).settings, {}, {}, {}};
  for (const Finding& finding : findings.all()) {
    (finding.severity == Severity::error     ? said.errors
     : finding.severity == Severity::warning ? said.warnings
                                             : said.notes)
        .push_back(finding.english());
  }
  return said;
}

}  // namespace

class TestLauncher : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void isTakenOffTheFront_data();
  void isTakenOffTheFront();
  void answersEachOfItsOptions();
  void itsMixedPrecisionIsNotFollowed();
  void itsDeviceIs();
  void refusesSeveralProcesses();
  void refusesOtherScripts();
};

void TestLauncher::isTakenOffTheFront_data() {
  QTest::addColumn<QString>("line");
  for (const char* line :
       {"--seed 5", "accelerate launch anima_train_network.py --seed 5",
        "/opt/venv/bin/accelerate launch /data/sd-scripts/anima_train_network.py --seed 5",
        "accelerate-launch --num_cpu_threads_per_process 1 sd-scripts/anima_train_network.py --seed 5",
        "python anima_train_network.py --seed 5", "python3.11 -u ./anima_train_network.py --seed 5",
        "C:\\py\\python.exe -m accelerate.commands.launch --num_processes=1 anima_train_network.py --seed 5",
        "python -m accelerate launch anima_train_network.py --seed 5", "./anima_train_network.py --seed 5",
        "accelerate launch --unheard_of 7 anima_train_network.py --seed 5",
        "accelerate launch --unheard-of anima_train_network.py --seed 5",
        "CUDA_VISIBLE_DEVICES=0 accelerate launch anima_train_network.py --seed 5"}) {
    QTest::newRow(line) << line;
  }
}

void TestLauncher::isTakenOffTheFront() {
  QFETCH(QString, line);
  const Said said = parse(line.toStdString());
  QCOMPARE(said.errors, std::vector<std::string>());
  QCOMPARE(said.settings.integer("seed"), std::int64_t{5});
}

void TestLauncher::answersEachOfItsOptions() {
  const Said said = parse(
      "X=1 accelerate launch --config_file acc.yaml --num_cpu_threads_per_process=8 --num_processes 1 --gpu_ids all "
      "--dynamo-backend inductor --main_process_port 0 -q --what 3 anima_train_network.py");
  QCOMPARE(said.errors, std::vector<std::string>());
  QCOMPARE(said.warnings, (std::vector<std::string>{
                              "launcher option --config_file acc.yaml: the launcher's own file is not read; what "
                              "it says about processes and devices is not followed"}));
  QCOMPARE(said.notes,
           (std::vector<std::string>{
               "'X=1' before the command has no effect here: set the variable before starting Lathe",
               "launcher option --num_cpu_threads_per_process 8 has no effect here: the number of threads follows the "
               "processor's cores",
               "launcher option --num_processes 1: this version trains in one process on one device",
               "launcher option --gpu_ids all has no effect here",
               "launcher option --dynamo_backend inductor has no effect: compiling is asked for with --compile",
               "launcher option --main_process_port 0 has no effect here", "launcher option --quiet has no effect here",
               "launcher option --what 3 is unknown and has no effect here"}));
}

void TestLauncher::itsMixedPrecisionIsNotFollowed() {
  Findings findings;
  const Arguments arguments =
      parse_arguments(split_words("accelerate launch --mixed_precision bf16 anima_train_network.py"), findings);
  QCOMPARE(arguments.settings.text("mixed_precision"), std::string("no"));
  QCOMPARE(findings.count(Severity::warning), std::size_t{1});
  const Finding& finding = findings.all().front();
  QCOMPARE(finding.english(), std::string("the launcher's mixed precision (bf16) has no effect, in the reference "
                                          "neither: mixed_precision is no"));
  QCOMPARE(finding.fields, std::vector<std::string>{"mixed_precision"});
  Settings fixed = arguments.settings;
  apply(finding.fixes.at(0), fixed);
  QCOMPARE(fixed.text("mixed_precision"), std::string("bf16"));

  const Said both = parse("accelerate launch --mixed_precision fp16 anima_train_network.py --mixed_precision bf16");
  QVERIFY(both.warnings.empty());
  QCOMPARE(both.notes.size(), std::size_t{1});
}

void TestLauncher::itsDeviceIs() {
  QCOMPARE(parse("accelerate launch --gpu_ids 1 anima_train_network.py").settings.text("device"),
           std::string("cuda:1"));
  QCOMPARE(parse("accelerate launch --cpu anima_train_network.py").settings.text("device"), std::string("cpu"));
  QCOMPARE(parse("accelerate launch --cpu anima_train_network.py --device cuda").settings.text("device"),
           std::string("cuda"));
}

void TestLauncher::refusesSeveralProcesses() {
  QCOMPARE(parse("accelerate launch --multi_gpu --num_processes 2 anima_train_network.py").errors.size(),
           std::size_t{2});
  QCOMPARE(parse("accelerate launch --gpu_ids 0,1 anima_train_network.py").errors.size(), std::size_t{1});
  QCOMPARE(parse("accelerate launch --use_deepspeed anima_train_network.py").errors.size(), std::size_t{1});
}

void TestLauncher::refusesOtherScripts() {
  QCOMPARE(parse("accelerate launch sdxl_train_network.py --seed 5").errors,
           std::vector<std::string>{"sdxl_train_network.py is not the Anima LoRA trainer (anima_train_network.py)"});
  QCOMPARE(parse("accelerate launch --num_processes 1").errors.size(), std::size_t{1});
}

LATHE_TEST(TestLauncher);
#include "launcher_test.moc"
