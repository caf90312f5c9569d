#include "core/text/qwen3_tokenizer.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <string>
#include <unordered_map>
#include <utility>

#include "core/base/error.h"
#include "core/base/files.h"
#include "core/base/format.h"
#include "core/text/json_file.h"
#include "core/text/nfc.h"
#include "core/text/qwen3_words.h"
#include "core/text/utf8.h"

namespace lathe::text {
namespace fs = std::filesystem;
using nlohmann::json;
using Vocabulary = std::unordered_map<std::string, std::int32_t>;

// What the files say, whichever of the two sets was there.
struct Qwen3Tokenizer::Data {
  Vocabulary vocabulary;
  std::vector<std::pair<std::string, std::string>> merges;  // in order of rank
  AddedTokens added;
};

namespace {

constexpr std::string_view kPadToken = "<|endoftext|>";

// The printable character that stands for a byte in the vocabulary: the byte itself where it is printable Latin-1, the
// others in order from U+0100 on (Radford et al., GPT-2).
std::array<std::string, 256> byte_symbols() {
  std::array<std::string, 256> symbols;
  char32_t next = 0x100;
  for (std::size_t byte = 0; byte < symbols.size(); ++byte) {
    const bool printable = (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
    const char32_t c = printable ? static_cast<char32_t>(byte) : next++;
    if (c < 0x80) {
      symbols[byte] = {static_cast<char>(c)};
    } else {
      symbols[byte] = {static_cast<char>(0xC0 | (c >> 6)), static_cast<char>(0x80 | (c & 0x3F))};
    }
  }
  return symbols;
}

Vocabulary vocabulary_of(const json& object) {
  Vocabulary vocabulary;
  vocabulary.reserve(object.size());
  for (const auto& [token, id] : object.get_ref<const json::object_t&>()) {
    vocabulary.emplace(token, id.get<std::int32_t>());
  }
  return vocabulary;
}

// vocab.json, {"token": id, …}: read without building the whole of it up, which takes twice the time.
class VocabularyReader : public JsonListener {
 public:
  explicit VocabularyReader(Vocabulary& vocabulary) : vocabulary_(vocabulary) {}

  bool key(string_t& token) override {
    token_ = std::move(token);
    return true;
  }
  bool number_unsigned(number_unsigned_t id) override {
    if (id > static_cast<number_unsigned_t>(std::numeric_limits<std::int32_t>::max())) {
      throw Error(ErrorKind::format, format("the id {} of '{}' is too large", id, token_));
    }
    vocabulary_.emplace(std::move(token_), static_cast<std::int32_t>(id));
    return true;
  }

 private:
  Vocabulary& vocabulary_;
  std::string token_;
};

Vocabulary read_vocabulary(const fs::path& path) {
  Vocabulary vocabulary;
  vocabulary.reserve(1 << 18);
  VocabularyReader reader(vocabulary);
  try {
    json::sax_parse(read_text(path), &reader);
  } catch (Error& error) {
    error.while_doing(format("reading '{}'", path));
    throw;
  }
  return vocabulary;
}

std::pair<std::string, std::string> split_merge(std::string_view text, std::size_t number) {
  const std::size_t space = text.find(' ');
  if (space == std::string_view::npos || text.find(' ', space + 1) != std::string_view::npos) {
    throw Error(ErrorKind::format, format("merge {} is '{}', expected two symbols with a space between", number, text));
  }
  return {std::string(text.substr(0, space)), std::string(text.substr(space + 1))};
}

std::vector<std::pair<std::string, std::string>> merges_of_text(std::string_view file) {
  std::vector<std::pair<std::string, std::string>> merges;
  for (std::string_view line : python_split(file, "\n")) {
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty() || line.starts_with("#version")) continue;
    merges.push_back(split_merge(line, merges.size()));
  }
  return merges;
}

std::vector<std::pair<std::string, std::string>> merges_of_json(const json& list) {
  std::vector<std::pair<std::string, std::string>> merges;
  merges.reserve(list.size());
  for (const json& merge : list) {
    if (merge.is_string()) {
      merges.push_back(split_merge(merge.get_ref<const std::string&>(), merges.size()));
    } else {
      merges.emplace_back(merge.at(0).get<std::string>(), merge.at(1).get<std::string>());
    }
  }
  return merges;
}

// {"151643": {"content": "<|endoftext|>", …}, …}
void add_tokens_of_config(const json& config, AddedTokens& added) {
  for (const auto& [key, entry] : config.at("added_tokens_decoder").items()) {
    std::int32_t id = 0;
    const auto [end, failed] = std::from_chars(key.data(), key.data() + key.size(), id);
    if (failed != std::errc() || end != key.data() + key.size()) {
      throw Error(ErrorKind::format, format("added_tokens_decoder has the key '{}', expected an id", key));
    }
    add_token(added, entry, id);
  }
}

bool mentions(const json& value, std::string_view text) {
  if (value.is_string()) return value.get_ref<const std::string&>() == text;
  if (!value.is_structured()) return false;
  return std::any_of(value.begin(), value.end(), [&](const json& inner) { return mentions(inner, text); });
}

// Another tokenizer in the same kind of file would give ids without a complaint, and wrong ones.
void require_qwen3(const json& file) {
  const json& model = file.at("model");
  const auto refuse = [](std::string_view what) {
    throw Error(ErrorKind::format, format("this is not a tokenizer of Qwen3: {}", what));
  };
  if (model.value("type", "BPE") != "BPE") refuse("its model is not of type BPE");
  if (model.value("byte_fallback", false) || model.value("ignore_merges", false)) {
    refuse("it has byte_fallback or ignore_merges on");
  }
  if (!mentions(file.at("normalizer"), "NFC")) refuse("its normalizer is not NFC");
  if (!mentions(file.at("pre_tokenizer"), kQwen3WordPattern)) refuse("it splits words by another pattern");
}

// Runs `read` on the parsed file; errors name the file.
template <class Read>
void with_json(const fs::path& path, Read read) {
  const json file = read_json(path);
  try {
    read(file);
  } catch (const json::exception& e) {
    throw Error(ErrorKind::format, format("'{}' is not laid out as a tokenizer file: {}", path, e.what()));
  } catch (Error& error) {
    error.while_doing(format("reading '{}'", path));
    throw;
  }
}

}  // namespace

Qwen3Tokenizer Qwen3Tokenizer::load(const fs::path& folder) {
  Data data;
  const bool in_parts = fs::exists(folder / "vocab.json") && fs::exists(folder / "merges.txt");
  if (in_parts) {
    data.vocabulary = read_vocabulary(folder / "vocab.json");
    data.merges = merges_of_text(read_text(folder / "merges.txt"));
  } else if (fs::exists(folder / "tokenizer.json")) {
    with_json(folder / "tokenizer.json", [&](const json& file) {
      require_qwen3(file);
      data.vocabulary = vocabulary_of(file.at("model").at("vocab"));
      data.merges = merges_of_json(file.at("model").at("merges"));
      for (const json& token : file.at("added_tokens"))
        add_token(data.added, token, token.at("id").get<std::int32_t>());
    });
  } else {
    throw Error(ErrorKind::file,
                format("'{}' holds no tokenizer of Qwen3: expected vocab.json, merges.txt and tokenizer_config.json, "
                       "or tokenizer.json",
                       folder));
  }
  const fs::path config = folder / "tokenizer_config.json";
  if (in_parts || fs::exists(config)) {
    with_json(config, [&](const json& file) { add_tokens_of_config(file, data.added); });
  }
  try {
    return Qwen3Tokenizer(std::move(data));
  } catch (Error& error) {
    error.while_doing(format("loading the tokenizer in '{}'", folder));
    throw;
  }
}

Qwen3Tokenizer::Qwen3Tokenizer(Data data) : added_(std::move(data.added)), merges_(data.merges.size()) {
  const auto id_of = [&](const std::string& symbol) {
    const auto found = data.vocabulary.find(symbol);
    if (found == data.vocabulary.end() || found->second < 0) {
      throw Error(ErrorKind::format, format("the vocabulary has no id for '{}'", symbol));
    }
    return found->second;
  };
  const std::array<std::string, 256> symbols = byte_symbols();
  std::ranges::transform(symbols, byte_ids_.begin(), id_of);
  std::int32_t rank = 0;
  for (const auto& [left, right] : data.merges) merges_.add(id_of(left), id_of(right), rank++, id_of(left + right));

  const auto pad = added_.id_of(kPadToken);
  if (!pad) throw Error(ErrorKind::format, format("there is no added token '{}' to pad with", kPadToken));
  pad_id_ = *pad;
}

void Qwen3Tokenizer::encode_piece(std::string_view piece, std::vector<std::int32_t>& ids) const {
  const std::string text = nfc(piece);
  std::vector<std::int32_t> symbols;
  for (const std::string_view word : qwen3_words(text)) {
    symbols.clear();
    for (const char byte : word) symbols.push_back(byte_ids_[static_cast<unsigned char>(byte)]);
    merges_.apply(symbols);
    ids.insert(ids.end(), symbols.begin(), symbols.end());
  }
}

std::vector<std::int32_t> Qwen3Tokenizer::encode(std::string_view utf8) const {
  require_utf8(utf8, "the text to tokenize");
  std::vector<std::int32_t> ids;
  added_.split(
      utf8, [&](std::string_view piece) { encode_piece(piece, ids); }, [&](std::int32_t id) { ids.push_back(id); });
  return ids;
}

}  // namespace lathe::text
