#include "core/text/qwen3_tokenizer.h"

#include <functional>

#include <nlohmann/json.hpp>

#include "core/base/error.h"
#include "core/base/paths.h"
#include "core/text/qwen3_words.h"
#include "tests/core/text/tokenizer_vectors.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/test_main.h"

using namespace lathe;
using namespace lathe::text;
using namespace lathe::testing;
using nlohmann::json;

class TestQwen3Tokenizer : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void givesTheIdsOfTheTable_data();
  void givesTheIdsOfTheTable();
  void cutsAndPadsToTheLength();
  void readsATokenizerJsonAlone_data();
  void readsATokenizerJsonAlone();
  void takesAddedTokensOfTheConfigToo();
  void refusesWhatIsNoTokenizerOfQwen3_data();
  void refusesWhatIsNoTokenizerOfQwen3();
  void namesTheMissingFiles();
  void refusesBytesThatAreNotUtf8();

 private:
  const Qwen3Tokenizer real_ = Qwen3Tokenizer::load(resource_folder() / "tokenizers" / "qwen3");
};

namespace {

// A tokenizer of the 256 bytes, two merges ("ab", "abc") and two added tokens.
struct Small {
  json vocabulary = json::object();
  json merges = json::parse(R"(["a b", "ab c"])");
  json added = json::parse(R"([{"id": 258, "content": "<|endoftext|>", "normalized": false},
                               {"id": 259, "content": "<|endoftext|>s", "normalized": false}])");

  Small() {
    char16_t next = 0x100;
    for (char16_t byte = 0; byte < 256; ++byte) {
      const bool printable = (byte > 32 && byte < 127) || (byte > 160 && byte != 173);
      vocabulary[QString(QChar(printable ? byte : next++)).toStdString()] = byte;
    }
    vocabulary["ab"] = 256;
    vocabulary["abc"] = 257;
  }

  json config() const {
    json decoder = json::object();
    for (const json& token : added) decoder[token.at("id").dump()] = token;
    return {{"added_tokens_decoder", decoder}};
  }
  json tokenizer() const {
    json file = json::parse(R"({
      "normalizer": {"type": "NFC"},
      "pre_tokenizer": {"type": "Sequence", "pretokenizers": [
        {"type": "Split", "pattern": {"Regex": ""}}, {"type": "ByteLevel"}]},
      "model": {"type": "BPE"}
    })");
    file["pre_tokenizer"]["pretokenizers"][0]["pattern"]["Regex"] = kQwen3WordPattern;
    file["model"]["vocab"] = vocabulary;
    file["model"]["merges"] = merges;
    file["added_tokens"] = added;
    return file;
  }
};

}  // namespace

void TestQwen3Tokenizer::givesTheIdsOfTheTable_data() {
  QTest::addColumn<QString>("text");
  QTest::addColumn<QString>("ids");
  int number = 0;
  const auto row = [&](const char* text, const char* ids) { QTest::addRow("%d", number++) << text << ids; };
  row("", "");
  row("a", "64");
  row("Hello world", "9707 1879");
  row(" Hello world", "21927 1879");
  row("a photo of a cat, sitting, {red|blue} hat", "64 6548 315 264 8251 11 11699 11 314 1151 91 12203 92 8896");
  row("1girl, hatsune miku, vocaloid, upper body, looking at viewer, microphone, stage",
      "16 28552 11 44426 2886 296 38242 11 25407 588 11 8416 2487 11 3330 518 25708 11 42395 11 6430");
  row("1girl,solo,long hair", "16 28552 10671 10011 74903 6869");
  row("score_9, score_8_up, score_7_up", "12338 62 24 11 5456 62 23 8237 11 5456 62 22 8237");
  row("@artist name, very aesthetic, (masterpiece:1.2)", "31 18622 829 11 1602 36537 11 320 13629 22362 25 16 13 17 8");
  row("year 2025, newest, highres, safe", "3157 220 17 15 17 20 11 23601 11 1550 416 11 6092");
  row("  two  leading spaces and   runs of   spaces ", "220 1378 220 6388 12621 323 256 8473 315 256 12621 220");
  row("tab\there\nnew line\n\n  indented\r\nCRLF", "6192 197 6739 198 931 1555 271 220 1257 15864 319 34 80658");
  row("don't DON'T we've WE'LL I'm she'd they're 'tis",
      "15007 944 44273 17323 582 3003 19677 6 4086 358 2776 1340 4172 807 2299 364 83 285");
  row("2024-01-02 3.14159 v1.2", "17 15 17 19 12 15 16 12 15 17 220 18 13 16 19 16 20 24 348 16 13 17");
  row("caf\u00e9", "924 58858");
  row("cafe\u0301", "924 58858");
  row("\u6771\u4eac\u30bf\u30ef\u30fc\u3001\u521d\u97f3\u30df\u30af\u3002",
      "102356 46553 46207 125980 5373 84607 78685 124486 28120 1773");
  row("\u732b \u3068 \u72ac", "100472 220 19182 10236 232 105");
  row("foo<|endoftext|>bar <|im_start|>user", "7975 151643 2257 220 151644 872");
  row("<think>hm</think> <extra_id_0> </s> <pad> <unk>",
      "151667 34301 151668 366 15460 842 62 15 29 690 82 29 366 13242 29 366 3122 29");
  row("\u2581under\u2581score _under_score", "10417 223 7995 10417 223 12338 716 7995 10405");
  row("lll", "654 75");
  row("kkk", "19196 74");
  row("###", "14374");
  row("aaa, !!!!!", "32646 11 753 17085");
}

void TestQwen3Tokenizer::givesTheIdsOfTheTable() {
  QFETCH(QString, text);
  QFETCH(QString, ids);
  QCOMPARE(QString::fromStdString(ids_text(real_.encode(text.toStdString()))), ids);
}

void TestQwen3Tokenizer::cutsAndPadsToTheLength() {
  QCOMPARE(real_.pad_id(), 151643);
  QCOMPARE(real_.row("Hello world", 4), (TokenRow{{9707, 1879, 151643, 151643}, {1, 1, 0, 0}}));
  QCOMPARE(real_.row("", 2), (TokenRow{{151643, 151643}, {0, 0}}));

  std::string lorem;
  for (int i = 0; i < 120; ++i) lorem += "Lorem ipsum dolor sit amet, ";
  QCOMPARE(real_.encode(lorem).size(), std::size_t{721});
  const TokenRow row = real_.row(lorem, 512);
  QCOMPARE(std::vector<std::int32_t>(row.ids.end() - 4, row.ids.end()), ids_of("27212 11 46931 26342"));
  QCOMPARE(row.mask, std::vector<std::int32_t>(512, 1));
}

void TestQwen3Tokenizer::readsATokenizerJsonAlone_data() {
  QTest::addColumn<bool>("pairs");
  QTest::newRow("merges as text") << false;
  QTest::newRow("merges as pairs") << true;
}

void TestQwen3Tokenizer::readsATokenizerJsonAlone() {
  QFETCH(bool, pairs);
  Small small;
  if (pairs) small.merges = json::parse(R"([["a", "b"], ["ab", "c"]])");
  const TemporaryFolder folder;
  folder.write("tokenizer.json", small.tokenizer().dump());
  const auto whole = Qwen3Tokenizer::load(folder.path());

  const TemporaryFolder parts;
  parts.write("vocab.json", small.vocabulary.dump());
  parts.write("merges.txt", "#version: 0.2\r\na b\r\nab c\r\n");
  parts.write("tokenizer_config.json", small.config().dump());
  const auto from_parts = Qwen3Tokenizer::load(parts.path());

  const std::string text = "abcab \xC3\xA9<|endoftext|>s<|endoftext|>ab";
  QCOMPARE(ids_text(whole.encode(text)), std::string("257 256 32 195 169 259 258 256"));
  QCOMPARE(from_parts.encode(text), whole.encode(text));
  QCOMPARE(whole.pad_id(), 258);
}

void TestQwen3Tokenizer::takesAddedTokensOfTheConfigToo() {
  Small small;
  const TemporaryFolder folder;
  folder.write("tokenizer.json", small.tokenizer().dump());
  small.added.push_back(json::parse(R"({"id": 300, "content": "<think>"})"));
  folder.write("tokenizer_config.json", small.config().dump());
  QCOMPARE(Qwen3Tokenizer::load(folder.path()).encode("<think>"), ids_of("300"));
}

void TestQwen3Tokenizer::refusesWhatIsNoTokenizerOfQwen3_data() {
  QTest::addColumn<QString>("path");   // JSON pointer into tokenizer.json
  QTest::addColumn<QString>("value");  // JSON put there; empty: removed
  QTest::addColumn<QString>("reason");
  QTest::newRow("kind of model") << "/model/type"
                                 << "\"Unigram\""
                                 << "not of type BPE";
  QTest::newRow("pattern") << "/pre_tokenizer/pretokenizers/0/pattern/Regex"
                           << "\"a+\""
                           << "another pattern";
  QTest::newRow("normalizer") << "/normalizer/type"
                              << "\"NFKC\""
                              << "not NFC";
  QTest::newRow("no normalizer") << "/normalizer"
                                 << ""
                                 << "normalizer";
  QTest::newRow("byte fallback") << "/model/byte_fallback"
                                 << "true"
                                 << "byte_fallback";
  QTest::newRow("merge of three") << "/model/merges/1"
                                  << "\"a b c\""
                                  << "merge 1 is 'a b c'";
  QTest::newRow("merge to nowhere") << "/model/merges/1"
                                    << "\"b b\""
                                    << "no id for 'bb'";
  QTest::newRow("a byte is missing") << "/model/vocab/a"
                                     << ""
                                     << "no id for 'a'";
  QTest::newRow("id is a text") << "/model/vocab/a"
                                << "\"x\""
                                << "tokenizer.json";
  QTest::newRow("stripping token") << "/added_tokens/0/lstrip"
                                   << "true"
                                   << "lstrip";
  QTest::newRow("nothing to pad with") << "/added_tokens/0/content"
                                       << "\"<pad>\""
                                       << "<|endoftext|>";
}

void TestQwen3Tokenizer::refusesWhatIsNoTokenizerOfQwen3() {
  QFETCH(QString, path);
  QFETCH(QString, value);
  QFETCH(QString, reason);
  json file = Small().tokenizer();
  const json::json_pointer place(path.toStdString());
  if (value.isEmpty()) {
    file.at(place.parent_pointer()).erase(place.back());
  } else {
    file[place] = json::parse(value.toStdString());
  }
  const TemporaryFolder folder;
  folder.write("tokenizer.json", file.dump());
  try {
    Qwen3Tokenizer::load(folder.path());
    QFAIL("no error");
  } catch (const Error& error) {
    QVERIFY2(QString(error.what()).contains(reason), error.what());
    QVERIFY2(QString(error.what()).contains(QString::fromStdString(to_utf8(folder.path()))), error.what());
  }
}

void TestQwen3Tokenizer::namesTheMissingFiles() {
  const TemporaryFolder folder;
  const auto message = [&] {
    try {
      Qwen3Tokenizer::load(folder.path());
      return QString();
    } catch (const Error& error) {
      return QString(error.what());
    }
  };
  QVERIFY(message().contains("expected vocab.json"));
  folder.write("vocab.json", "{}");
  folder.write("merges.txt", "");
  QVERIFY(message().contains("tokenizer_config.json"));
  folder.write("tokenizer_config.json", Small().config().dump());
  QVERIFY(message().contains("no id for"));
  folder.write("vocab.json", "{");
  QVERIFY(message().contains("not valid JSON"));
  QVERIFY(message().contains("vocab.json"));
}

void TestQwen3Tokenizer::refusesBytesThatAreNotUtf8() {
  QVERIFY_EXCEPTION_THROWN(real_.encode("caf\xE9"), Error);
  QVERIFY_EXCEPTION_THROWN(real_.encode("<|endoftext|>\x80<|endoftext|>"), Error);
}

LATHE_TEST(TestQwen3Tokenizer);
#include "qwen3_tokenizer_test.moc"
