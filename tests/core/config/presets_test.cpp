#include "core/config/presets.h"

#include <algorithm>

#include "core/base/paths.h"
#include "core/config/schema.h"
#include "core/config/validate.h"
#include "tests/core/config/compare.h"
#include "tests/support/golden.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/test_main.h"

using namespace lathe::config;
using lathe::testing::TemporaryFolder;

class TestPresets : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void thoseThatComeWithLatheAreGood();
  void theCompilePresetCompiles();
  void pathsAndSecretsAreRefused();
  void theCommandLineStays();
};

namespace {

std::vector<Preset> own_presets() {
  Findings findings;
  auto presets = read_presets(lathe::testing::data_folder() / "../../resources/presets", findings);
  for (const Finding& finding : findings.all()) qWarning("%s", finding.english().c_str());
  if (!findings.all().empty()) throw std::runtime_error("presets with findings");
  return presets;
}

}  // namespace

void TestPresets::thoseThatComeWithLatheAreGood() {
  const auto presets = own_presets();
  QVERIFY(presets.size() >= 3);
  for (const Preset& preset : presets) {
    QVERIFY(!preset.values.empty() && preset.title.size() < 40 && preset.help.ends_with('.'));
    for (const auto& [name, value] : preset.values) {
      QVERIFY2(option(name).path == PathKind::none && !option(name).secret, name.c_str());
      const auto* text = std::get_if<std::string>(&value);
      QVERIFY2(text == nullptr || text->find_first_of("/\\") == std::string::npos, name.c_str());
    }
    Settings settings;
    settings.set("network_train_unet_only", true, Source::file);
    apply(preset, settings);
    Findings findings;
    validate(settings, {}, findings, {.purpose = Purpose::plan, .check_files = false});
    for (const Finding& finding : findings.all()) {
      const bool expected = preset.name == "compile" && finding.fields == std::vector<std::string>{"compile"};
      QVERIFY2(finding.severity == Severity::note || expected, finding.english().c_str());
    }
  }
}

void TestPresets::theCompilePresetCompiles() {
  const auto presets = own_presets();
  const auto compile = std::ranges::find(presets, "compile", &Preset::name);
  QVERIFY(compile != presets.end());
  Settings settings;
  apply(*compile, settings);
  QVERIFY(settings.flag("compile"));
  QCOMPARE(settings.integer("compile_cache_size_limit"), std::int64_t{32});
  QVERIFY(!settings.flag("torch_compile"));
}

void TestPresets::pathsAndSecretsAreRefused() {
  const TemporaryFolder folder;
  folder.write("a.toml", "[preset]\ntitle = 'A'\nhelp = 'B.'\n[x]\noutput_dir = '/home/me'\nseed = 1\n");
  folder.write("b.toml", "seed = 1\n");
  folder.write("c.toml", "[preset]\ntitle = 'C'\nhelp = 'D.'\n[x]\nsed = 1\n");
  folder.write("d.toml", "[preset]\ntitle = 'C'\nhelp = 'D.'\n[x]\nwandb_api_key = 'k'\n");
  folder.write("e.toml", "[preset]\ntitle = 'E'\nhelp = 'F.'\n[x]\nseed = 7\n");
  folder.write("notes.txt", "");
  Findings findings;
  const auto presets = read_presets(folder.path(), findings);
  QCOMPARE(presets.size(), std::size_t{1});
  QCOMPARE(presets[0].name, std::string("e"));
  const std::string here = lathe::to_utf8(folder.path()) + "/";
  std::vector<std::string> said;
  for (const Finding& finding : findings.all()) said.push_back(finding.english());
  QCOMPARE(said,
           (std::vector<std::string>{here + "a.toml:5: a preset cannot set output_dir: it belongs to one machine",
                                     here + "b.toml: a preset needs a table [preset] with title and help",
                                     here + "c.toml:5: unknown option 'sed'; did you mean 'seed'?",
                                     here + "d.toml:5: a preset cannot set wandb_api_key: it belongs to one machine"}));
}

void TestPresets::theCommandLineStays() {
  Settings settings;
  settings.set("seed", std::int64_t{1}, Source::command_line);
  apply(Preset{"p", "P", "P.", {{"seed", std::int64_t{2}}, {"network_dim", std::int64_t{8}}}}, settings);
  QCOMPARE(settings.integer("seed"), std::int64_t{1});
  QCOMPARE(settings.integer("network_dim"), std::int64_t{8});
}

LATHE_TEST(TestPresets);
#include "presets_test.moc"
