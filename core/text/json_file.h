#pragma once

#include <filesystem>
#include <string_view>

#include <nlohmann/json.hpp>

#include "core/text/added_tokens.h"

// Helpers of the two loaders; a header of this folder alone.
namespace lathe::text {

// Throws Error(file) where it cannot be read, Error(format) where it is no JSON.
nlohmann::json read_json(const std::filesystem::path& path);

// Adds one entry {"content": …, "lstrip": …} as written in tokenizer.json and tokenizer_config.json. Throws
// Error(format) for flags that change how neighbours are cut (lstrip, rstrip, single_word, normalized).
void add_token(AddedTokens& tokens, const nlohmann::json& entry, std::int32_t id);

}  // namespace lathe::text
