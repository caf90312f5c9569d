#include "core/models/adapters/lora_options.h"

#include "core/base/error.h"
#include "tests/support/tensor_check.h"
#include "tests/support/test_main.h"

using lathe::config::Settings;
using lathe::config::Source;
using namespace lathe::models;

class TestLoraOptions : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void theDefaultsAreTheReferences();
  void everyArgumentArrives();
  void entriesThatAreNoPairsAreSkipped();
  void aValueThatCannotBeReadIsNamed_data();
  void aValueThatCannotBeReadIsNamed();
};

namespace {
LoraOptions with(const std::vector<std::string>& arguments) {
  Settings settings;
  settings.set("network_args", arguments, Source::command_line);
  return lora_options(settings);
}
}  // namespace

void TestLoraOptions::theDefaultsAreTheReferences() {
  const LoraOptions options = lora_options(Settings());
  QCOMPARE(options.rank, std::int64_t{4});
  QCOMPARE(options.alpha, 1.0);
  QVERIFY(options.alpha_is_integer);
  QVERIFY(!options.train_llm_adapter && !options.loraplus_lr_ratio);

  Settings given;
  given.set("network_alpha", 1.0, Source::command_line);
  QVERIFY(!lora_options(given).alpha_is_integer);
}

void TestLoraOptions::everyArgumentArrives() {
  Settings settings;
  settings.set("network_dim", std::int64_t{16}, Source::command_line);
  settings.set("network_alpha", 8.0, Source::command_line);
  settings.set("network_dropout", 0.1, Source::command_line);
  settings.set(
      "network_args",
      std::vector<std::string>{"train_llm_adapter=TRUE", "exclude_patterns=['a', r'b\\.c']", "include_patterns='x'",
                               "network_reg_dims= a = 8 ,b=2,a=3", "network_reg_lrs=a=1e-4", "loraplus_lr_ratio=16",
                               "loraplus_unet_lr_ratio=4", "loraplus_text_encoder_lr_ratio=2", "rank_dropout=0.2",
                               "module_dropout=0.3", "unknown=1"},
      Source::command_line);
  const LoraOptions options = lora_options(settings);
  QCOMPARE(options.rank, std::int64_t{16});
  QCOMPARE(options.alpha, 8.0);
  QCOMPARE(options.dropout, 0.1);
  QVERIFY(options.train_llm_adapter);
  QCOMPARE(options.exclude_patterns, (std::vector<std::string>{"a", "b\\.c"}));
  QCOMPARE(options.include_patterns, std::vector<std::string>{"x"});
  QVERIFY((options.rank_by_pattern == std::vector<std::pair<std::string, std::int64_t>>{{"a", 3}, {"b", 2}}));
  QVERIFY((options.lr_by_pattern == std::vector<std::pair<std::string, double>>{{"a", 1e-4}}));
  QCOMPARE(options.loraplus_lr_ratio, std::optional(16.0));
  QCOMPARE(options.loraplus_unet_lr_ratio, std::optional(4.0));
  QCOMPARE(options.loraplus_text_encoder_lr_ratio, std::optional(2.0));
  QCOMPARE(options.rank_dropout, 0.2);
  QCOMPARE(options.module_dropout, 0.3);
}

void TestLoraOptions::entriesThatAreNoPairsAreSkipped() {
  const LoraOptions options = with({"network_reg_dims=bad,a=8,,x=y,b=2=3,c=4", "train_llm_adapter=yes"});
  QVERIFY((options.rank_by_pattern == std::vector<std::pair<std::string, std::int64_t>>{{"a", 8}, {"c", 4}}));
  QVERIFY(!options.train_llm_adapter);
}

void TestLoraOptions::aValueThatCannotBeReadIsNamed_data() {
  QTest::addColumn<QString>("argument");
  QTest::newRow("number") << "rank_dropout=much";
  QTest::newRow("list") << "exclude_patterns=[.*]";
  QTest::newRow("items") << "include_patterns=[1]";
}

void TestLoraOptions::aValueThatCannotBeReadIsNamed() {
  QFETCH(QString, argument);
  try {
    with({argument.toStdString()});
    QFAIL("accepted");
  } catch (const lathe::Error& error) {
    QCOMPARE(error.kind(), lathe::ErrorKind::settings);
    QVERIFY(QString::fromUtf8(error.what()).contains(argument.section('=', 0, 0)));
  }
}

LATHE_TEST(TestLoraOptions);
#include "lora_options_test.moc"
