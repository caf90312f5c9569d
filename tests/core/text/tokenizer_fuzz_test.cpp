#include <array>
#include <map>
#include <optional>
#include <random>

#include <QStringDecoder>
#include <nlohmann/json.hpp>

#include "core/base/error.h"
#include "core/base/files.h"
#include "core/base/paths.h"
#include "core/text/nfc.h"
#include "core/text/qwen3_tokenizer.h"
#include "core/text/t5_tokenizer.h"
#include "tests/support/test_main.h"

using namespace lathe;
using namespace lathe::text;

class TestTokenizerFuzz : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void takesValidUtf8Alone();
  void losesNothingOfTheText();
  void takesLongWords();

 private:
  const Qwen3Tokenizer qwen3_ = Qwen3Tokenizer::load(resource_folder() / "tokenizers" / "qwen3");
  const T5Tokenizer t5_ = T5Tokenizer::load(resource_folder() / "tokenizers" / "t5");
};

namespace {

using Random = std::mt19937;

// Bytes of all kinds: any, or pieces of UTF-8 with a fault here and there.
std::string random_bytes(Random& random) {
  std::string bytes;
  const bool any = random() % 4 == 0;
  const bool faults = random() % 2 == 0;
  for (std::uint32_t i = random() % 24; i > 0; --i) {
    if (any) {
      bytes.push_back(static_cast<char>(random() % 256));
      continue;
    }
    const std::array<char32_t, 5> limits = {0x80, 0x500, 0x3100, 0x10000, 0x110000};
    const char32_t c = random() % limits[random() % limits.size()];
    if (c < 0xD800 || c > 0xDFFF) bytes += QString::fromUcs4(&c, 1).toStdString();
    if (faults && random() % 8 == 0 && !bytes.empty()) bytes[random() % bytes.size()] = static_cast<char>(random());
    if (faults && random() % 16 == 0 && !bytes.empty()) bytes.pop_back();
  }
  return bytes;
}

bool is_valid_for_qt(const std::string& bytes) {
  QStringDecoder decoder(QStringDecoder::Utf8, QStringConverter::Flag::Stateless);
  const QString decoded = decoder(QByteArrayView(bytes.data(), static_cast<qsizetype>(bytes.size())));
  return decoded.isNull() || !decoder.hasError();
}

template <class Tokenizer>
std::optional<std::vector<std::int32_t>> try_encode(const Tokenizer& tokenizer, const std::string& bytes) {
  try {
    return tokenizer.encode(bytes);
  } catch (const Error&) {
    return std::nullopt;
  }
}

// The bytes of each id, from vocab.json: the printable characters turned back.
std::map<std::int32_t, std::string> bytes_of_ids() {
  std::map<char32_t, char> bytes;
  char32_t next = 0x100;
  for (char32_t byte = 0; byte < 256; ++byte) {
    const bool printable = (byte > 32 && byte < 127) || (byte > 160 && byte != 173);
    bytes[printable ? byte : next++] = static_cast<char>(byte);
  }
  std::map<std::int32_t, std::string> result;
  const auto file = nlohmann::json::parse(read_text(resource_folder() / "tokenizers" / "qwen3" / "vocab.json"));
  for (const auto& [token, id] : file.items()) {
    std::string& text = result[id.get<std::int32_t>()];
    for (const char32_t c : QString::fromStdString(token).toUcs4()) text.push_back(bytes.at(c));
  }
  return result;
}

}  // namespace

void TestTokenizerFuzz::takesValidUtf8Alone() {
  Random random(1);
  int valid = 0;
  int invalid = 0;
  for (int round = 0; round < 20000; ++round) {
    const std::string bytes = random_bytes(random);
    const bool good = is_valid_for_qt(bytes);
    ++(good ? valid : invalid);
    const auto qwen3 = try_encode(qwen3_, bytes);
    const auto t5 = try_encode(t5_, bytes);
    if (qwen3.has_value() != good || t5.has_value() != good) {
      QFAIL(("taken otherwise than by Qt: " + QByteArray::fromStdString(bytes).toHex(' ')).constData());
    }
    if (good) QCOMPARE(t5->back(), t5_.end_id());
  }
  QVERIFY(valid > 5000);
  QVERIFY(invalid > 5000);
}

// Byte-level merges keep every byte, and the words are the text.
void TestTokenizerFuzz::losesNothingOfTheText() {
  const std::map<std::int32_t, std::string> bytes = bytes_of_ids();
  Random random(2);
  int compared = 0;
  for (int round = 0; round < 20000; ++round) {
    const std::string text = random_bytes(random);
    const auto ids = try_encode(qwen3_, text);
    if (!ids) continue;
    std::string back;
    for (const std::int32_t id : *ids) back += bytes.at(id);
    QCOMPARE(back, nfc(text));
    ++compared;
  }
  QVERIFY(compared > 5000);
}

void TestTokenizerFuzz::takesLongWords() {
  const std::string word(100000, 'a');
  QVERIFY(!qwen3_.encode(word).empty());
  QVERIFY(t5_.encode(word).size() > 1);
}

LATHE_TEST(TestTokenizerFuzz);
#include "tokenizer_fuzz_test.moc"
