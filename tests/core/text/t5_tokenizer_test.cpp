#include "core/text/t5_tokenizer.h"

#include <nlohmann/json.hpp>

#include "core/base/error.h"
#include "core/base/paths.h"
#include "core/text/t5_scores.h"
#include "tests/core/text/tokenizer_vectors.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/test_main.h"

using namespace lathe;
using namespace lathe::text;
using namespace lathe::testing;
using nlohmann::json;

class TestT5Tokenizer : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void givesTheIdsOfTheTable_data();
  void givesTheIdsOfTheTable();
  void cutsAndPadsToTheLength();
  void readsScoresAsTheReference_data();
  void readsScoresAsTheReference();
  void keepsTheFirstOfTwoEqualWays();
  void refusesWhatIsNoTokenizerOfT5_data();
  void refusesWhatIsNoTokenizerOfT5();
  void refusesBytesThatAreNotUtf8();

 private:
  const T5Tokenizer real_ = T5Tokenizer::load(resource_folder() / "tokenizers" / "t5");
};

namespace {

// Its charsmap is a table of one unit that matches nothing, without replacements.
json small_tokenizer() {
  return json::parse(R"({
    "added_tokens": [{"id": 0, "content": "<pad>"}, {"id": 1, "content": "</s>"}, {"id": 2, "content": "<unk>"}],
    "normalizer": {"type": "Precompiled", "precompiled_charsmap": "BAAAAAAAAAA="},
    "pre_tokenizer": {"type": "Sequence", "pretokenizers": [
      {"type": "WhitespaceSplit"}, {"type": "Metaspace", "replacement": "\u2581", "add_prefix_space": true}]},
    "model": {"unk_id": 2, "vocab": [
      ["<pad>", 0.0], ["</s>", 0.0], ["<unk>", 0.0], ["\u2581", -1.5], ["a", -1.5], ["\u2581a", -3.0]]}
  })");
}

T5Tokenizer load(const json& file, const TemporaryFolder& folder) {
  folder.write("tokenizer.json", file.dump());
  return T5Tokenizer::load(folder.path());
}

}  // namespace

void TestT5Tokenizer::givesTheIdsOfTheTable_data() {
  QTest::addColumn<QString>("text");
  QTest::addColumn<QString>("ids");
  int number = 0;
  const auto row = [&](const char* text, const char* ids) { QTest::addRow("%d", number++) << text << ids; };
  row("", "1");
  row("a", "3 9 1");
  row("Hello world", "8774 296 1");
  row(" Hello world", "8774 296 1");
  row("a photo of a cat, sitting, {red|blue} hat", "3 9 1202 13 3 9 1712 6 3823 6 3 2 1271 9175 7060 15 2 3 547 1");
  row("1girl, hatsune miku, vocaloid, upper body, looking at viewer, microphone, stage",
      "209 18722 6 3 547 7 444 1337 2729 6 6721 32 23 26 6 4548 643 6 479 44 17831 6 18701 6 1726 1");
  row("1girl,solo,long hair", "209 18722 6 4099 32 6 2961 1268 1");
  row("score_9, score_8_up, score_7_up", "2604 834 1298 6 2604 834 927 834 413 6 2604 834 940 834 413 1");
  row("@artist name, very aesthetic, (masterpiece:1.2)", "3320 1408 343 564 6 182 9386 6 41 7429 8424 10 10917 61 1");
  row("year 2025, newest, highres, safe", "215 460 1828 6 3 10909 6 306 60 7 6 1346 1");
  row("  two  leading spaces and   runs of   spaces ", "192 1374 4856 11 3154 13 4856 1");
  row("tab\there\nnew line\n\n  indented\r\nCRLF", "3808 270 126 689 16 537 1054 3 4545 18962 1");
  row("don't DON'T we've WE'LL I'm she'd they're 'tis",
      "278 31 17 309 4170 31 382 62 31 162 9664 31 10376 27 31 51 255 31 26 79 31 60 3 31 17 159 1");
  row("2024-01-02 3.14159 v1.2", "460 2266 14772 18 4305 1877 2534 27904 3 208 10917 1");
  row("caf\u00e9", "11949 1");
  row("cafe\u0301", "11949 1");
  row("\u6771\u4eac\u30bf\u30ef\u30fc\u3001\u521d\u97f3\u30df\u30af\u3002", "3 2 1");
  row("\u732b \u3068 \u72ac", "3 2 3 2 3 2 1");
  row("foo<|endoftext|>bar <|im_start|>user",
      "5575 32 2 9175 989 858 6327 9175 3155 1047 3 2 9175 603 834 10208 9175 3155 10041 1");
  row("<think>hm</think> <extra_id_0> </s> <pad> <unk>", "3 2 10337 3155 107 51 2 87 10337 3155 32099 1 0 2 1");
  row("\u2581under\u2581score _under_score", "365 2604 3 834 7248 834 7 9022 1");
  row("lll", "3 40 195 1");
  row("kkk", "3 157 8511 1");
  row("###", "1713 30345 1");
  row("aaa, !!!!!", "3 9 9 9 6 3 17065 1");
  row(" \t\u3000", "1");
}

void TestT5Tokenizer::givesTheIdsOfTheTable() {
  QFETCH(QString, text);
  QFETCH(QString, ids);
  QCOMPARE(QString::fromStdString(ids_text(real_.encode(text.toStdString()))), ids);
}

void TestT5Tokenizer::cutsAndPadsToTheLength() {
  QCOMPARE(real_.pad_id(), 0);
  QCOMPARE(real_.end_id(), 1);
  QCOMPARE(real_.row("Hello world", 5), (TokenRow{{8774, 296, 1, 0, 0}, {1, 1, 1, 0, 0}}));
  QCOMPARE(real_.row("Hello world", 2), (TokenRow{{8774, 1}, {1, 1}}));
  QCOMPARE(real_.row("", 2), (TokenRow{{1, 0}, {1, 0}}));

  std::string lorem;
  for (int i = 0; i < 120; ++i) lorem += "Lorem ipsum dolor sit amet, ";
  QCOMPARE(real_.encode(lorem).size(), std::size_t{1561});
  const TokenRow row = real_.row(lorem, 512);
  QCOMPARE(std::vector<std::int32_t>(row.ids.end() - 4, row.ids.end()), ids_of("15 51 3 1"));
  QCOMPARE(row.mask, std::vector<std::int32_t>(512, 1));
}

void TestT5Tokenizer::readsScoresAsTheReference_data() {
  QTest::addColumn<QString>("text");
  QTest::addColumn<double>("value");
  QTest::newRow("one step past the nearest") << "-2.0122928619384766" << -0x1.0192d00000001p+1;
  QTest::newRow("another") << "-7.4370903968811035" << -0x1.dbf94a0000001p+2;
  QTest::newRow("zero") << "0.0" << 0.0;
  QTest::newRow("exponent") << "-25e-1" << -2.5;
  QTest::newRow("positive exponent") << "1.5E+2" << 150.0;
  QTest::newRow("more digits than 64 bits") << "18446744073709551616.5" << 18446744073709551610.0;
  QTest::newRow("more places than 64 bits") << "0.1000000000000000000000001" << 0.1;
  QTest::newRow("below every double") << "1e-400" << 0.0;
}

void TestT5Tokenizer::readsScoresAsTheReference() {
  QFETCH(QString, text);
  QFETCH(double, value);
  QVERIFY2(serde_number(text.toStdString()) == value, QByteArray::number(serde_number(text.toStdString()), 'g', 17));
}

// "▁" + "a" scores what "▁a" does, and is looked at later: strictly better ones alone replace.
void TestT5Tokenizer::keepsTheFirstOfTwoEqualWays() {
  const TemporaryFolder folder;
  QCOMPARE(load(small_tokenizer(), folder).encode("a aa <pad> b a"), ids_of("5 5 4 0 3 2 5 1"));
}

void TestT5Tokenizer::refusesWhatIsNoTokenizerOfT5_data() {
  QTest::addColumn<QString>("path");   // JSON pointer into tokenizer.json
  QTest::addColumn<QString>("value");  // JSON put there; empty: removed
  QTest::addColumn<QString>("reason");
  QTest::newRow("kind of model") << "/model/type"
                                 << "\"BPE\""
                                 << "unigram";
  QTest::newRow("byte fallback") << "/model/byte_fallback"
                                 << "true"
                                 << "byte fallback";
  QTest::newRow("normalizer") << "/normalizer/type"
                              << "\"Sequence\""
                              << "charsmap alone";
  QTest::newRow("charsmap") << "/normalizer/precompiled_charsmap"
                            << "\"BAAA\""
                            << "damaged";
  QTest::newRow("not base64") << "/normalizer/precompiled_charsmap"
                              << "\"B*AA\""
                              << "base64";
  QTest::newRow("no white space step") << "/pre_tokenizer/pretokenizers/0"
                                       << ""
                                       << "white space";
  QTest::newRow("other word mark") << "/pre_tokenizer/pretokenizers/1/replacement"
                                   << "\"_\""
                                   << "white space";
  QTest::newRow("entry without a score") << "/model/vocab/4/1"
                                         << ""
                                         << "entry 4";
  QTest::newRow("entry without a piece") << "/model/vocab/4/0"
                                         << "1.5"
                                         << "model.vocab";
  QTest::newRow("no vocabulary") << "/model/vocab"
                                 << "[]"
                                 << "empty";
  QTest::newRow("unknown id") << "/model/unk_id"
                              << "6"
                              << "unk_id is 6";
  QTest::newRow("no end") << "/added_tokens/1"
                          << ""
                          << "</s>";
}

void TestT5Tokenizer::refusesWhatIsNoTokenizerOfT5() {
  QFETCH(QString, path);
  QFETCH(QString, value);
  QFETCH(QString, reason);
  json file = small_tokenizer();
  const json::json_pointer place(path.toStdString());
  json& parent = file.at(place.parent_pointer());
  if (!value.isEmpty()) {
    file[place] = json::parse(value.toStdString());
  } else if (parent.is_array()) {
    parent.erase(static_cast<std::size_t>(std::stoul(place.back())));
  } else {
    parent.erase(place.back());
  }
  const TemporaryFolder folder;
  try {
    load(file, folder);
    QFAIL("no error");
  } catch (const Error& error) {
    QVERIFY2(QString(error.what()).contains(reason), error.what());
    QVERIFY2(QString(error.what()).contains("tokenizer.json"), error.what());
  }
}

void TestT5Tokenizer::refusesBytesThatAreNotUtf8() {
  QVERIFY_EXCEPTION_THROWN(real_.encode("caf\xE9"), Error);
  QVERIFY_EXCEPTION_THROWN(real_.encode("</s>\x80</s>"), Error);
}

LATHE_TEST(TestT5Tokenizer);
#include "t5_tokenizer_test.moc"
