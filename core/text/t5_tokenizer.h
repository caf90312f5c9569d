#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "core/text/added_tokens.h"
#include "core/text/charsmap.h"
#include "core/text/piece_trie.h"
#include "core/text/token_row.h"

namespace lathe::text {

// The tokenizer of T5: a unigram model over words (Kudo, 2018), the same ids as Hugging Face's `tokenizers`, which
// differ from SentencePiece's. May be used by several threads at once.
class T5Tokenizer {
 public:
  // Reads tokenizer.json. Throws Error(file) or Error(format) that names the file; a file whose steps are others than
  // T5's (precompiled charsmap, white space, '▁' before each word, unigram) is refused.
  static T5Tokenizer load(const std::filesystem::path& folder);

  // Ids of the whole text with </s> at the end, neither cut nor padded. "" gives </s> alone. Throws Error(dataset)
  // where the text is not valid UTF-8.
  std::vector<std::int32_t> encode(std::string_view utf8) const;

  std::int32_t pad_id() const { return pad_id_; }  // <pad>
  std::int32_t end_id() const { return end_id_; }  // </s>
  // At most `length` - 1 ids and </s>, padded on the right: what the adapter is given.
  TokenRow row(std::string_view utf8, std::size_t length) const { return pad(encode(utf8), length, pad_id_, end_id_); }

 private:
  struct Data;
  struct Best;
  explicit T5Tokenizer(Data data);
  void encode_piece(std::string_view piece, std::vector<std::int32_t>& ids) const;
  void encode_word(std::string_view word, std::vector<Best>& best, std::vector<std::int32_t>& ids) const;

  AddedTokens added_;
  Charsmap charsmap_;
  PieceTrie trie_;
  std::vector<double> scores_;
  double unknown_score_ = 0;
  std::int32_t unknown_id_ = 0;
  std::int32_t pad_id_ = 0;
  std::int32_t end_id_ = 0;
};

}  // namespace lathe::text
