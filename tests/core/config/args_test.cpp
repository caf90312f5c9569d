#include "core/config/args.h"

#include <algorithm>

#include "core/base/paths.h"
#include "core/config/schema.h"
#include "core/config/value_text.h"
#include "tests/core/config/compare.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/test_main.h"

using namespace lathe::config;

namespace {

std::vector<std::string> texts(const Findings& findings, Severity severity) {
  std::vector<std::string> found;
  for (const Finding& finding : findings.all()) {
    if (finding.severity == severity) found.push_back(finding.english());
  }
  return found;
}

Settings parse(const std::vector<std::string>& words) {
  Findings findings;
  const Arguments arguments = parse_arguments(words, findings);
  for (const std::string& error : texts(findings, Severity::error)) qWarning("%s", error.c_str());
  if (findings.has_errors()) throw std::runtime_error("not parsed");
  return arguments.settings;
}

std::vector<std::string> errors(const std::vector<std::string>& words) {
  Findings findings;
  parse_arguments(words, findings);
  return texts(findings, Severity::error);
}

// A word that the option accepts, to see that its name is known.
std::string example(const Option& row) {
  if (!row.choices.empty()) return std::string(row.choices.front());
  switch (row.type) {
    case OptionType::integer:
    case OptionType::steps:
      return "3";
    case OptionType::real:
    case OptionType::real_list:
      return "0.5";
    default:
      return "word";
  }
}

}  // namespace

class TestArgs : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void everyOptionParses_data();
  void everyOptionParses();
  void followsThePythonParser();
  void understandsBeginningsOfNames();
  void reportsAllUnknownOptionsAtOnce();
  void reportsWrongValuesAndStrayWords();
  void theLastOfEqualOptionsCounts();
  void readsSharesOfSteps();
  void fileBelowCommandLine();
  void fileFindingsCarryTheirLines();
  void fileTypesAreThoseOfTheReference();
  void aDatasetFileIsRecognised();
  void outputConfigDoesNotReadTheFile();
  void splitsAPastedCommand();
};

void TestArgs::everyOptionParses_data() {
  QTest::addColumn<QString>("name");
  for (const Option& row : options()) {
    if (row.name != "config_file" && row.name != "output_config") {
      QTest::newRow(std::string(row.name).c_str()) << QString::fromStdString(std::string(row.name));
    }
  }
}

void TestArgs::everyOptionParses() {
  QFETCH(QString, name);
  const Option& row = option(name.toStdString());
  std::vector<std::string> words = {"--" + name.toStdString()};
  if (row.type != OptionType::flag) words.push_back(example(row));
  const Settings settings = parse(words);
  QVERIFY(settings.source(row.name) == Source::command_line);

  std::string dashed = words[0];
  std::replace(dashed.begin() + 2, dashed.end(), '_', '-');
  words[0] = dashed;
  QVERIFY(parse(words).value(row.name) == settings.value(row.name));

  const std::string word = row.type == OptionType::flag ? "true" : example(row);
  QVERIFY(parse({"--" + name.toStdString() + "=" + word}).value(row.name) == settings.value(row.name));
}

void TestArgs::followsThePythonParser() {
  const Settings settings =
      parse({"--learning_rate", "-1e-4", "--training_comment", "--two words", "--output_name", "", "--optimizer_args",
             "weight_decay=0.1", "betas=(0.9, 0.99)", "--compile", "--network_args", "--caption_prefix=--x",
             "--keep_tokens", "-5", "--seed= 1_0 ", "--text_encoder_lr", "1e-5", "2e-5"});
  QCOMPARE(settings.real("learning_rate"), -1e-4);
  QCOMPARE(settings.text("training_comment"), std::string("--two words"));
  QVERIFY(settings.is_set("output_name"));
  QCOMPARE(settings.list("optimizer_args"), (std::vector<std::string>{"weight_decay=0.1", "betas=(0.9, 0.99)"}));
  QVERIFY(settings.flag("compile"));
  QVERIFY(settings.is_set("network_args") && settings.list("network_args").empty());
  QCOMPARE(settings.text("caption_prefix"), std::string("--x"));
  QCOMPARE(settings.integer("keep_tokens"), std::int64_t{-5});
  QCOMPARE(settings.integer("seed"), std::int64_t{10});
  QCOMPARE(settings.reals("text_encoder_lr"), (std::vector<double>{1e-5, 2e-5}));
  QVERIFY(std::holds_alternative<double>(parse({"--network_alpha", "16"}).value("network_alpha")));
  QVERIFY(!parse({"--compile", "--compile=false"}).flag("compile"));
}

void TestArgs::understandsBeginningsOfNames() {
  QCOMPARE(parse({"--max_train_s", "7"}).integer("max_train_steps"), std::int64_t{7});
  QCOMPARE(parse({"--learn=0.5"}).real("learning_rate"), 0.5);
  QVERIFY(parse({"--compile"}).flag("compile"));   // exact, though compile_mode begins with it
  QVERIFY(parse({"--alpha"}).flag("alpha_mask"));  // the reference's, though alpha_background is ours
  QCOMPARE(parse({"--dev", "cpu"}).text("device"), std::string("cpu"));
  QCOMPARE(parse({"--train_dir", "o"}).text("output_dir"), std::string("o"));
  QCOMPARE(errors({"--max_train", "7"}),
           (std::vector<std::string>{"--max_train could mean --max_train_steps, --max_train_epochs"}));
}

void TestArgs::reportsAllUnknownOptionsAtOnce() {
  QCOMPARE(errors({"-seed", "3", "--netwrok_dim", "4", "--seed", "1", "--zzz=3", "--resolutoin", "512"}),
           (std::vector<std::string>{
               "unknown option -seed; options begin with two dashes: --seed", "the word '3' belongs to no option",
               "unknown option --netwrok_dim; did you mean --network_dim?", "unknown option --zzz",
               "unknown option --resolutoin; did you mean --resolution?"}));
}

void TestArgs::reportsWrongValuesAndStrayWords() {
  QCOMPARE(errors({"--max_train_steps", "many", "--compile", "true", "--lr_warmup_steps", "1.5", "--seed", "--vae"}),
           (std::vector<std::string>{
               "the word 'true' belongs to no option: --compile takes no value (write --compile=false to turn it off)",
               "--seed needs a value after it", "--vae needs a value after it",
               "max_train_steps must be a whole number, not 'many'",
               "lr_warmup_steps must be a number of steps (100, 0.1 or \"10%\"), not '1.5'"}));
  QCOMPARE(errors({"--vae", "a\xff"}), (std::vector<std::string>{"vae is not UTF-8 text"}));
  QCOMPARE(errors({"one", "--", "--seed"}),
           (std::vector<std::string>{"the word 'one' belongs to no option", "the word '--seed' belongs to no option"}));
}

void TestArgs::theLastOfEqualOptionsCounts() {
  Findings findings;
  const Arguments arguments = parse_arguments({"--seed", "1", "--seed", "2", "--sdpa", "--sdpa"}, findings);
  QCOMPARE(arguments.settings.integer("seed"), std::int64_t{2});
  QCOMPARE(texts(findings, Severity::note), (std::vector<std::string>{"--seed is given twice; the last one counts"}));
}

void TestArgs::readsSharesOfSteps() {
  QVERIFY((parse({"--lr_warmup_steps", "10%"}).steps("lr_warmup_steps") == Steps{true, 0, 0.1}));
  QVERIFY((parse({"--lr_warmup_steps", "0.25"}).steps("lr_warmup_steps") == Steps{true, 0, 0.25}));
  QVERIFY((parse({"--lr_warmup_steps", "100"}).steps("lr_warmup_steps") == Steps{false, 100, 0.0}));
  QVERIFY((parse({"--lr_warmup_steps", "0"}).steps("lr_warmup_steps") == Steps{true, 0, 0.0}));  // float("0") < 1
}

void TestArgs::fileBelowCommandLine() {
  const lathe::testing::TemporaryFolder folder;
  const auto file = folder.write("job.toml",
                                 "seed = 1\n[model]\nvae = 'v'\n[anything]\nnetwork_alpha = 16\nseed = 2\n"
                                 "lr-warmup-steps = 0.1\ncompile_dynamic = true\ntext_encoder_lr = 1e-5\n");
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"--config_file", lathe::to_utf8(file), "--vae", "w"},
        std::vector<std::string>{lathe::to_utf8(file), "--vae", "w"},
        std::vector<std::string>{"--config_file", lathe::to_utf8(folder.path() / "job"), "--vae", "w"}}) {
    Findings findings;
    const Arguments arguments = parse_arguments(words, findings);
    const Settings& settings = arguments.settings;
    QVERIFY(!findings.has_errors());
    QCOMPARE(settings.text("vae"), std::string("w"));
    QVERIFY(settings.source("vae") == Source::command_line);
    QCOMPARE(settings.integer("seed"), std::int64_t{2});
    QVERIFY(settings.source("seed") == Source::file);
    QVERIFY(settings.value("network_alpha") == Value(std::int64_t{16}));
    QVERIFY((settings.steps("lr_warmup_steps") == Steps{true, 0, 0.1}));
    QCOMPARE(settings.text("compile_dynamic"), std::string("true"));
    QCOMPARE(settings.reals("text_encoder_lr"), std::vector<double>{1e-5});
    QCOMPARE(arguments.places.at("seed").line, 6);
    QVERIFY(!arguments.places.contains("vae"));
    QCOMPARE(texts(findings, Severity::warning).size(), std::size_t{1});  // seed stands twice
  }
  QCOMPARE(errors({"--config_file", lathe::to_utf8(folder.path() / "none.toml")}).size(), std::size_t{1});
}

void TestArgs::fileFindingsCarryTheirLines() {
  const lathe::testing::TemporaryFolder folder;
  const auto file = folder.write("job.toml", "sed = 1\n[a]\nmax_train_steps = 1.5\n[b]\nnetwork_dmi = 3\nzzzzzz = 1\n");
  const std::string at = lathe::to_utf8(file) + ":";
  QCOMPARE(errors({lathe::to_utf8(file)}),
           (std::vector<std::string>{at + "1: unknown option 'sed'; did you mean 'seed'?",
                                     at + "3: max_train_steps must be a whole number, not a number with a point",
                                     at + "5: unknown option 'network_dmi'; did you mean 'network_dim'?",
                                     at + "6: unknown option 'zzzzzz'"}));
}

void TestArgs::fileTypesAreThoseOfTheReference() {
  const lathe::testing::TemporaryFolder folder;
  const auto file = folder.write("job.toml",
                                 "resolution = 512\nlearning_rate = '1e-4'\nnetwork_args = 'a=1'\nsdpa = 1\n"
                                 "optimizer_args = ['a=1', 2]\nconfig_file = 'x'\nseed = 2024-01-01\n");
  const std::string at = lathe::to_utf8(file) + ":";
  QCOMPARE(errors({lathe::to_utf8(file)}),
           (std::vector<std::string>{at + "1: resolution must be text: put the value in quotes",
                                     at + "2: learning_rate must be a number: write '1e-4' without quotes",
                                     at + "3: network_args must be a list: write ['a=1']",
                                     at + "4: sdpa must be true or false, not a whole number",
                                     at + "5: optimizer_args must be a list of texts, not a list",
                                     at + "7: seed must be a whole number, not a date"}));
}

void TestArgs::aDatasetFileIsRecognised() {
  const lathe::testing::TemporaryFolder folder;
  const auto file = folder.write("d.toml", "[[datasets]]\nresolution = 512\n");
  const auto found = errors({lathe::to_utf8(file)});
  QCOMPARE(found.size(), std::size_t{1});
  QVERIFY(found[0].find("give it as dataset_config") != std::string::npos);
}

void TestArgs::outputConfigDoesNotReadTheFile() {
  const lathe::testing::TemporaryFolder folder;
  const auto file = folder.write("job.toml", "this is no TOML");
  QCOMPARE(
      errors({"--output_config", "--config_file", lathe::to_utf8(file)}),
      (std::vector<std::string>{"output_config: " + lathe::to_utf8(file) + " exists already and is not written over"}));
  QVERIFY(errors({"--output_config", "--config_file", lathe::to_utf8(folder.path() / "new")}).empty());
  QCOMPARE(errors({"--output_config"}).size(), std::size_t{1});
}

void TestArgs::splitsAPastedCommand() {
  QCOMPARE(split_words("a  'b c' \"d \\\"e\" \\\n  f ^\r\n g'h'i '' C:\\models\\x 'it'\\''s'"),
           (std::vector<std::string>{"a", "b c", "d \"e", "f", "ghi", "", "C:\\models\\x", "it's"}));
  for (const std::string word : {"", "a b", "it's", "C:\\x y", "plain", "\"", "$HOME", "ü"}) {
    QCOMPARE(split_words(quote_word(word)), std::vector<std::string>{word});
  }
}

LATHE_TEST(TestArgs);
#include "args_test.moc"
