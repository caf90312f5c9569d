#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string_view>
#include <vector>

#include "core/text/added_tokens.h"
#include "core/text/byte_pair_merges.h"
#include "core/text/token_row.h"

namespace lathe::text {

// The tokenizer of Qwen3: byte-level byte-pair encoding over NFC text, the same ids as Hugging Face's `tokenizers`.
// May be used by several threads at once.
class Qwen3Tokenizer {
 public:
  // Reads vocab.json, merges.txt and tokenizer_config.json; where the first two are missing, tokenizer.json (with
  // tokenizer_config.json if it is there). Throws Error(file) or Error(format) that names the file; a tokenizer.json
  // of another kind of tokenizer is refused.
  static Qwen3Tokenizer load(const std::filesystem::path& folder);

  // Ids of the whole text, neither cut nor padded; nothing is put before or after it. "" gives none. Throws
  // Error(dataset) where the text is not valid UTF-8.
  std::vector<std::int32_t> encode(std::string_view utf8) const;

  // The id of <|endoftext|>, with which rows are padded.
  std::int32_t pad_id() const { return pad_id_; }
  // The first `length` ids, padded on the right: what the text encoder is given.
  TokenRow row(std::string_view utf8, std::size_t length) const { return pad(encode(utf8), length, pad_id_); }

 private:
  struct Data;
  explicit Qwen3Tokenizer(Data data);
  void encode_piece(std::string_view piece, std::vector<std::int32_t>& ids) const;

  AddedTokens added_;
  BytePairMerges merges_;
  std::array<std::int32_t, 256> byte_ids_ = {};
  std::int32_t pad_id_ = 0;
};

}  // namespace lathe::text
