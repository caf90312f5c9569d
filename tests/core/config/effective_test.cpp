#include "core/config/effective.h"

#include "core/base/paths.h"
#include "core/config/args.h"
#include "core/config/schema.h"
#include "core/config/value_text.h"
#include "tests/core/config/compare.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/test_main.h"

using namespace lathe::config;

namespace {

Settings read_back(const std::string& toml) {
  const lathe::testing::TemporaryFolder folder;
  Settings settings;
  Places places;
  Findings findings;
  read_settings_file(folder.write("back.toml", toml), settings, places, findings);
  for (const Finding& finding : findings.all()) qWarning("%s", finding.english().c_str());
  return settings;
}

Settings parse_back(const std::vector<std::string>& words) {
  Findings findings;
  Settings settings = parse_arguments(words, findings).settings;
  for (const Finding& finding : findings.all()) qWarning("%s", finding.english().c_str());
  return settings;
}

// Another value than the default, as awkward as the type allows.
Value awkward(const Option& row) {
  switch (row.type) {
    case OptionType::flag:
      return !std::get<bool>(row.standard);
    case OptionType::integer:
      return std::int64_t{-3};
    case OptionType::real:
      return 1.0 / 3.0e-7;
    case OptionType::steps:
      return Steps{.is_ratio = true, .ratio = 0.07};
    case OptionType::text_list:
      return std::vector<std::string>{"a=\"x, ]] #\"", "", "b='é\n'"};
    case OptionType::real_list:
      return std::vector<double>{1e-5, 1e22};
    default:
      return std::string("-\"'\\ ]] # = é\t\n🙂");
  }
}

}  // namespace

class TestEffective : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void everyOptionComesBack();
  void awkwardTextsComeBack_data();
  void awkwardTextsComeBack();
  void namesTheSourceAndHidesSecrets();
  void defaultsLeaveNothing();
  void fieldTextComesBack();
};

void TestEffective::everyOptionComesBack() {
  Settings settings;
  for (const Option& row : options()) settings.set(row.name, awkward(row), Source::command_line);
  const std::vector<std::string> left_out = {"config_file", "huggingface_token", "output_config", "wandb_api_key"};
  const auto sorted = [](std::vector<std::string> names) {
    std::sort(names.begin(), names.end());
    return names;
  };
  QCOMPARE(sorted(differing(read_back(effective_toml(settings)), settings)), left_out);
  QCOMPARE(sorted(differing(parse_back(effective_words(settings)), settings)), left_out);
}

void TestEffective::awkwardTextsComeBack_data() {
  QTest::addColumn<QString>("text");
  QTest::newRow("quotes") << R"(He said "yes", 'no', """three""", '''three''')";
  QTest::newRow("lines") << "one\ntwo\r\nthree\n\n";
  QTest::newRow("brackets") << "]] [[section]] # no comment";
  QTest::newRow("emoji") << QString::fromUtf8("🎨 é 日本語 \u2028");
  QTest::newRow("backslash") << R"(C:\new\table\u0041\)";
  QTest::newRow("long") << QString(10240, 'x') + "\"\n]]";
  QTest::newRow("control") << QString("a\tb\x01\x1f\x7f");
  QTest::newRow("dashes") << "--seed 5";
  QTest::newRow("one dash word") << "--seed";
  QTest::newRow("number") << "-5";
  QTest::newRow("empty") << "";
  QTest::newRow("spaces") << "  ";
}

void TestEffective::awkwardTextsComeBack() {
  QFETCH(QString, text);
  Settings settings;
  settings.set("training_comment", text.toStdString(), Source::file);
  settings.set("output_dir", text.toStdString(), Source::file);
  settings.set("caption_separator", text.toStdString(), Source::file);
  settings.set("network_args", std::vector<std::string>{text.toStdString()}, Source::file);
  const Settings from_file = read_back(effective_toml(settings));
  QCOMPARE(from_file.text("training_comment"), text.toStdString());
  QVERIFY(differing(from_file, settings).empty());
  QVERIFY(differing(parse_back(effective_words(settings)), settings).empty());
}

void TestEffective::namesTheSourceAndHidesSecrets() {
  Settings settings;
  settings.set("seed", std::int64_t{7}, Source::command_line);
  settings.set("learning_rate", 1e-4, Source::file);
  settings.set("cache_latents", true, Source::automatic);
  settings.set("wandb_api_key", std::string("hunter2"), Source::command_line);
  QCOMPARE(QString::fromStdString(effective_toml(settings)),
           QString("# Settings that differ from their defaults.\n"
                   "\n[dataset]\ncache_latents = true  # set automatically\n"
                   "\n[training]\nseed = 7  # command line\n"
                   "\n[optimizer]\nlearning_rate = 0.0001  # settings file\n"
                   "\n[logging]\n# wandb_api_key is set; its value is not written\n"));
  QCOMPARE(effective_words(settings),
           (std::vector<std::string>{"--cache_latents", "--seed", "7", "--learning_rate", "0.0001"}));
}

void TestEffective::defaultsLeaveNothing() {
  QVERIFY(effective_words(Settings()).empty());
  QVERIFY(differing(read_back(effective_toml(Settings())), Settings()).empty());
}

void TestEffective::fieldTextComesBack() {
  for (const Option& row : options()) {
    lathe::Message problem;
    const Value value = awkward(row);
    const auto back = value_from_field(row, field_text(value), problem);
    QVERIFY2(back && *back == value, std::string(row.name).c_str());
    QVERIFY(*value_from_field(row, "", problem) == row.standard);
  }
}

LATHE_TEST(TestEffective);
#include "effective_test.moc"
