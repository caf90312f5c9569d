#include "core/config/schema.h"

#include <algorithm>
#include <map>
#include <set>

#include "core/base/error.h"
#include "core/base/files.h"
#include "core/config/diagnostic.h"
#include "tests/support/golden.h"
#include "tests/support/test_main.h"

using namespace lathe::config;

namespace {

struct Documented {
  std::string name, type, standard;
  std::vector<std::string> choices;
};

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == at) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

std::vector<Documented> documented_options() {
  std::vector<Documented> found;
  for (const std::string& line : split(lathe::read_text(lathe::testing::data_folder() / "config/options.txt"), '\n')) {
    if (line.empty() || line[0] == '#') continue;
    const std::vector<std::string> cells = split(line, '\t');
    Documented row{cells.at(0), cells.at(1), cells.at(2), {}};
    if (cells.size() > 3) row.choices = split(cells[3], ',');
    found.push_back(row);
  }
  return found;
}

std::string type_word(OptionType type) {
  switch (type) {
    case OptionType::flag:
      return "flag";
    case OptionType::integer:
      return "int";
    case OptionType::real:
      return "float";
    case OptionType::steps:
      return "steps";
    case OptionType::text_list:
      return "texts";
    case OptionType::real_list:
      return "floats";
    case OptionType::text:
    case OptionType::path:
    case OptionType::choice:
      return "text";
  }
  return "";
}

Value standard_value(const Documented& row) {
  if (row.standard == "unset") return {};
  if (row.type == "flag") return row.standard == "true";
  if (row.type == "text") return row.standard.substr(1, row.standard.size() - 2);
  if (row.type == "steps") return Steps{false, std::stoll(row.standard), 0.0};
  if (row.standard.find_first_of(".e") != std::string::npos) return std::stod(row.standard);
  return static_cast<std::int64_t>(std::stoll(row.standard));
}

}  // namespace

class TestSchema : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void holdsEveryDocumentedOption_data();
  void holdsEveryDocumentedOption();
  void saysOnlyWhatItShould();
  void everyOptionHasAHelpAndAReasonWhereItDoesNotWork();
  void settingsStartWithTheDefaults();
  void settingsRefuseWrongTypes();
  void namesTheNearestOption();
};

void TestSchema::holdsEveryDocumentedOption_data() {
  QTest::addColumn<int>("row");
  const auto rows = documented_options();
  QVERIFY(rows.size() >= 220 + 8);
  for (std::size_t i = 0; i < rows.size(); ++i) QTest::newRow(rows[i].name.c_str()) << static_cast<int>(i);
}

void TestSchema::holdsEveryDocumentedOption() {
  QFETCH(int, row);
  static const auto rows = documented_options();
  const Documented& documented = rows[static_cast<std::size_t>(row)];
  const Option* found = find_option(documented.name);
  QVERIFY(found != nullptr);
  QCOMPARE(type_word(found->type), documented.type);
  QVERIFY(found->origin != Origin::ours);

  const std::map<std::string, Value> ours = {{"compile_backend", std::string("native")},
                                             {"compile_dynamic", std::string("auto")},
                                             {"compile_cache_size_limit", std::int64_t{8}}};
  const auto own = ours.find(documented.name);
  QVERIFY(found->standard == (own == ours.end() ? standard_value(documented) : own->second));

  for (const std::string& choice : documented.choices) {
    QVERIFY2(std::ranges::find(found->choices, choice) != found->choices.end(), choice.c_str());
  }
}

void TestSchema::saysOnlyWhatItShould() {
  std::set<std::string_view> documented, seen;
  const auto rows = documented_options();
  for (const Documented& row : rows) documented.insert(row.name);
  for (const Option& row : options()) {
    const std::string name(row.name);
    QVERIFY2(seen.insert(row.name).second, name.c_str());
    QVERIFY2((row.origin == Origin::ours) != documented.contains(row.name), name.c_str());
  }
}

void TestSchema::everyOptionHasAHelpAndAReasonWhereItDoesNotWork() {
  for (const Option& row : options()) {
    const std::string name(row.name);
    QVERIFY2(row.help.pattern.size() > 5 && row.help.pattern.ends_with('.'), name.c_str());
    QVERIFY2(row.help.pattern.find("  ") == std::string_view::npos, name.c_str());
    QCOMPARE(row.reason.pattern.empty(), row.state == OptionClass::works);
    QVERIFY2(row.accepts(row.standard), name.c_str());
    if (row.type == OptionType::choice) QVERIFY2(!row.choices.empty(), name.c_str());
    for (const ValueState& value : row.values) {
      QVERIFY(!value.reason.pattern.empty());
      QVERIFY(value.state != OptionClass::works);
    }
  }
}

void TestSchema::settingsStartWithTheDefaults() {
  const Settings settings;
  for (const Option& row : options()) {
    QVERIFY(settings.is_default(row.name));
    QVERIFY(settings.source(row.name) == Source::standard);
    QCOMPARE(settings.is_set(row.name), !row.may_be_unset());
  }
  QCOMPARE(settings.real("learning_rate"), 2e-6);
  QCOMPARE(settings.real("network_alpha"), 1.0);
  QVERIFY(std::holds_alternative<std::int64_t>(settings.value("network_alpha")));
  QCOMPARE(settings.text("output_dir"), std::string());
  QVERIFY(!settings.maybe_text("output_dir"));
  QVERIFY(settings.list("network_args").empty());
  QCOMPARE(settings.steps("lr_warmup_steps").steps, std::int64_t{0});
}

void TestSchema::settingsRefuseWrongTypes() {
  Settings settings;
  QVERIFY_EXCEPTION_THROWN(settings.text("no_such_option"), lathe::Error);
  QVERIFY_EXCEPTION_THROWN(settings.integer("seed"), lathe::Error);  // unset
  QVERIFY_EXCEPTION_THROWN(settings.flag("max_train_steps"), lathe::Error);
  QVERIFY_EXCEPTION_THROWN(settings.set("max_train_steps", 1.5, Source::file), lathe::Error);
  QVERIFY_EXCEPTION_THROWN(settings.set("max_train_steps", Value(), Source::file), lathe::Error);
  settings.set("seed", std::int64_t{7}, Source::command_line);
  QCOMPARE(*settings.maybe_integer("seed"), std::int64_t{7});
  QVERIFY(settings.source("seed") == Source::command_line);
  QVERIFY(!settings.is_default("seed"));
  settings.set("network_alpha", 1.0, Source::command_line);
  QVERIFY(!settings.is_default("network_alpha"));  // 1.0 and 1 differ in the reference's files
}

void TestSchema::namesTheNearestOption() {
  QCOMPARE(nearest_name("resolutoin", option_names()), std::string("resolution"));
  QCOMPARE(nearest_name("output-dir", option_names()), std::string("output_dir"));
  QCOMPARE(nearest_name("netwrok_dim", option_names()), std::string("network_dim"));
  QCOMPARE(nearest_name("entirely_different_thing", option_names()), std::string());
  QCOMPARE(nearest_name("", option_names()), std::string());
  QCOMPARE(nearest_name("q", {"x"}), std::string());  // more than a third of it
}

LATHE_TEST(TestSchema);
#include "schema_test.moc"
