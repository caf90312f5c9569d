#include "core/text/t5_tokenizer.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "core/base/error.h"
#include "core/base/files.h"
#include "core/base/format.h"
#include "core/text/json_file.h"
#include "core/text/t5_scores.h"
#include "core/text/utf8.h"

namespace lathe::text {
namespace fs = std::filesystem;
using nlohmann::json;

struct T5Tokenizer::Data {
  AddedTokens added;
  std::string charsmap;
  UnigramVocabulary vocabulary;
  std::int32_t unknown_id;
};

// The best way to cut the bytes before a position: its score and the last token. start < 0: none found yet.
struct T5Tokenizer::Best {
  double score = 0;
  std::ptrdiff_t start = -1;
  std::int32_t id = 0;
};

namespace {

constexpr std::string_view kWordStart = "\xE2\x96\x81";  // ▁ U+2581
constexpr double kUnknownPenalty = 10;                   // below the lowest score, as in SentencePiece

std::string from_base64(std::string_view text) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3);
  std::uint32_t bits = 0;
  int count = 0;
  for (const char c : text) {
    if (c == '=') break;
    const std::size_t digit = kDigits.find(c);
    if (digit == std::string_view::npos) throw Error(ErrorKind::format, "the precompiled charsmap is not base64");
    bits = (bits << 6) | static_cast<std::uint32_t>(digit);
    count += 6;
    if (count < 8) continue;
    count -= 8;
    bytes.push_back(static_cast<char>((bits >> count) & 0xFF));
  }
  return bytes;
}

// All but the vocabulary, whose numbers are wanted as they are written.
json parse_settings(const std::string& bytes) {
  return json::parse(bytes, [](int depth, json::parse_event_t event, const json& value) {
    return !(depth == 2 && event == json::parse_event_t::key && value == "vocab");
  });
}

// Another pipeline in the same kind of file would give ids without a complaint, and wrong ones.
void require_t5(const json& settings) {
  const auto require = [](bool good, std::string_view what) {
    if (!good) throw Error(ErrorKind::format, format("this is not a tokenizer of T5: {}", what));
  };
  const json& model = settings.at("model");
  require(model.value("type", "Unigram") == "Unigram" && !model.value("byte_fallback", false),
          "its model is not a unigram model without byte fallback");
  require(settings.at("normalizer").at("type") == "Precompiled", "its normalizer is not a precompiled charsmap alone");
  const json& splitting = settings.at("pre_tokenizer");
  const json steps = splitting.value("pretokenizers", json::array());
  require(splitting.at("type") == "Sequence" && steps.size() == 2 && steps[0].at("type") == "WhitespaceSplit" &&
              steps[1].at("type") == "Metaspace" && steps[1].at("replacement") == kWordStart &&
              (steps[1].value("add_prefix_space", false) || steps[1].value("prepend_scheme", "") == "always"),
          "it does not split at white space and put '\xE2\x96\x81' before each word");
}

}  // namespace

T5Tokenizer T5Tokenizer::load(const fs::path& folder) {
  const fs::path path = folder / "tokenizer.json";
  const std::string bytes = read_text(path);
  try {
    const json settings = parse_settings(bytes);
    require_t5(settings);
    Data data = {
        .added = {},
        .charsmap = from_base64(settings.at("normalizer").at("precompiled_charsmap").get_ref<const std::string&>()),
        .vocabulary = read_unigram_vocabulary(bytes),
        .unknown_id = settings.at("model").at("unk_id").get<std::int32_t>()};
    for (const json& token : settings.at("added_tokens")) {
      add_token(data.added, token, token.at("id").get<std::int32_t>());
    }
    return T5Tokenizer(std::move(data));
  } catch (const json::exception& e) {
    throw Error(ErrorKind::format, format("'{}' is not laid out as a tokenizer.json: {}", path, e.what()));
  } catch (Error& error) {
    error.while_doing(format("loading the tokenizer '{}'", path));
    throw;
  }
}

T5Tokenizer::T5Tokenizer(Data data)
    : added_(std::move(data.added)),
      charsmap_(data.charsmap),
      trie_(data.vocabulary.pieces),
      scores_(std::move(data.vocabulary.scores)),
      unknown_id_(data.unknown_id) {
  if (scores_.empty()) throw Error(ErrorKind::format, "its vocabulary is empty");
  if (unknown_id_ < 0 || static_cast<std::size_t>(unknown_id_) >= scores_.size()) {
    throw Error(ErrorKind::format, format("unk_id is {}, the vocabulary has {} entries", unknown_id_, scores_.size()));
  }
  unknown_score_ = std::ranges::min(scores_) - kUnknownPenalty;
  const auto id_of = [&](std::string_view content) {
    const auto id = added_.id_of(content);
    if (!id) throw Error(ErrorKind::format, format("it has no added token '{}'", content));
    return *id;
  };
  pad_id_ = id_of("<pad>");
  end_id_ = id_of("</s>");
}

// Viterbi: only a strictly better way replaces one already found, and positions are visited left to right.
void T5Tokenizer::encode_word(std::string_view word, std::vector<Best>& best, std::vector<std::int32_t>& ids) const {
  best.assign(word.size() + 1, {});
  for (std::size_t start = 0; start < word.size();) {
    const std::size_t character = decode(word, start).size;
    const double so_far = best[start].score;
    const auto offer = [&](std::size_t length, double score, std::int32_t id) {
      Best& end = best[start + length];
      if (end.start < 0 || score + so_far > end.score) end = {score + so_far, static_cast<std::ptrdiff_t>(start), id};
    };
    bool single = false;
    trie_.for_each_prefix(word.substr(start), [&](std::size_t length, std::int32_t id) {
      offer(length, scores_[static_cast<std::size_t>(id)], id);
      single = single || length == character;
    });
    if (!single) offer(character, unknown_score_, unknown_id_);
    start += character;
  }

  const std::size_t first = ids.size();
  for (std::size_t end = word.size(); end > 0; end = static_cast<std::size_t>(best[end].start)) {
    const bool merges = best[end].id == unknown_id_ && ids.size() > first && ids.back() == unknown_id_;
    if (!merges) ids.push_back(best[end].id);
  }
  std::reverse(ids.begin() + static_cast<std::ptrdiff_t>(first), ids.end());
}

void T5Tokenizer::encode_piece(std::string_view piece, std::vector<std::int32_t>& ids) const {
  const std::string text = charsmap_.normalize(piece);
  std::vector<Best> best;
  std::string word;
  const auto finish_word = [&] {
    if (word.empty()) return;
    if (!word.starts_with(kWordStart)) word.insert(0, kWordStart);
    encode_word(word, best, ids);
    word.clear();
  };
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint c = decode(text, at);
    if (is_white_space(c.value)) {
      finish_word();
    } else {
      word += text.substr(at, c.size);
    }
    at += c.size;
  }
  finish_word();
}

std::vector<std::int32_t> T5Tokenizer::encode(std::string_view utf8) const {
  require_utf8(utf8, "the text to tokenize");
  std::vector<std::int32_t> ids;
  added_.split(
      utf8, [&](std::string_view piece) { encode_piece(piece, ids); }, [&](std::int32_t id) { ids.push_back(id); });
  ids.push_back(end_id_);
  return ids;
}

}  // namespace lathe::text
