#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>

#include <nlohmann/json.hpp>

#include "core/text/added_tokens.h"

// Helpers of the two loaders; a header of this folder alone.
namespace lathe::text {

// Throws Error(file) where it cannot be read, Error(format) where it is no JSON.
nlohmann::json read_json(const std::filesystem::path& path);

// Hears the parts of a JSON text as they are read, for files too large to be built up first. Overrides pick what they
// need and return true; a text that is no JSON throws Error(format).
class JsonListener : public nlohmann::json_sax<nlohmann::json> {
 public:
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool start_object(std::size_t) override { return true; }
  bool key(string_t&) override { return true; }
  bool end_object() override { return true; }
  bool start_array(std::size_t) override { return true; }
  bool end_array() override { return true; }
  bool parse_error(std::size_t, const std::string&, const nlohmann::json::exception& error) override;
};

// Adds one entry {"content": …, "lstrip": …} as written in tokenizer.json and tokenizer_config.json. Throws
// Error(format) for flags that change how neighbours are cut (lstrip, rstrip, single_word, normalized).
void add_token(AddedTokens& tokens, const nlohmann::json& entry, std::int32_t id);

}  // namespace lathe::text
