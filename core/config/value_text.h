#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/config/diagnostic.h"
#include "core/config/document.h"
#include "core/config/schema.h"
#include "core/config/settings.h"

// Values of options from words, from a form's fields, from files, and back.
namespace lathe::config {

// One word of the command line as a value of `option` (for a list: as its only item). nullopt: it is none, and
// `problem` says what was expected. "true" and "false" for flags.
std::optional<Value> value_from_word(const Option& option, const std::string& word, Message& problem);
// All words of a list option.
std::optional<Value> value_from_words(const Option& option, const std::vector<std::string>& words, Message& problem);
// From a TOML or JSON value.
std::optional<Value> value_from_node(const Option& option, const Node& node, Message& problem);

// A value as one line of text, as forms, fixes and presets hold it; unset is empty. Lists are words with spaces
// between, quoted where needed.
std::string field_text(const Value& value);
// The reverse; an empty text gives the default.
std::optional<Value> value_from_field(const Option& option, const std::string& text, Message& problem);

// Applies what a fix changes. Throws Error(internal) where a fix of ours holds no valid value.
void apply(const Fix& fix, Settings& settings);

// A command line as a shell splits it: quotes, backslashes, `\` and `^` at line ends.
std::vector<std::string> split_words(std::string_view line);
// One word, quoted where a shell needs it.
std::string quote_word(const std::string& word);

}  // namespace lathe::config
