#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lathe::text {

// Words of a tokenizer that are found in the raw text before anything else and give one id each ("<|endoftext|>").
class AddedTokens {
 public:
  // A content given twice keeps its first id.
  void add(std::string content, std::int32_t id);
  std::optional<std::int32_t> id_of(std::string_view content) const;

  // Cuts `text` at every added token, leftmost first and the longest there: `on_text` gets the pieces between (never
  // empty), `on_id` the ids, in order.
  void split(std::string_view text, const std::function<void(std::string_view)>& on_text,
             const std::function<void(std::int32_t)>& on_id) const;

 private:
  struct Token {
    std::string content;
    std::int32_t id;
  };
  const Token* match(std::string_view rest) const;

  std::vector<Token> tokens_;          // longest first
  std::array<bool, 256> starts_ = {};  // bytes that some token starts with
};

}  // namespace lathe::text
