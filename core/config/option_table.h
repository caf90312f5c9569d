#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/config/schema.h"

// How the rows of the table (options_*.cpp) are written. The text's id is "option." and the option's name, so that the
// name stands once.
namespace lathe::config::table {

struct Row : Option {
  Row(OptionType kind, TextId text, Value standard_value);

  Row&& one_of(std::initializer_list<std::string_view> names) &&;
  Row&& usually(std::initializer_list<std::string_view> names) &&;  // other values reach the validator
  Row&& at_least(double low) &&;
  Row&& above(double low) &&;
  Row&& between(double low, double high) &&;
  Row&& no_effect(TextId why) &&;
  Row&& refused(TextId why) &&;
  Row&& not_yet(TextId why) &&;
  Row&& not_yet(std::initializer_list<std::string_view> some_values, TextId why) &&;
  Row&& refused(std::initializer_list<std::string_view> some_values, TextId why) &&;
  Row&& paths(PathKind kind) &&;
  Row&& later() &&;
  Row&& ours() &&;
  Row&& is_secret() &&;
};

Row flag(TextId text, bool standard = false);
Row integer(TextId text, std::optional<std::int64_t> standard = std::nullopt);
Row real(TextId text, std::optional<double> standard = std::nullopt);
Row real_from_integer(TextId text, std::int64_t standard);  // the reference's default is an int
Row text(TextId text);
Row text(TextId text, std::string_view standard);
Row file(TextId text);
Row folder(TextId text);
Row file_or_folder(TextId text);
Row choice(TextId text, std::initializer_list<std::string_view> names);
Row choice(TextId text, std::initializer_list<std::string_view> names, std::string_view standard);
Row steps(TextId text);
Row text_list(TextId text);
Row real_list(TextId text);

// Reasons that several options share.
inline constexpr TextId kLater = LATHE_TEXT("reason.later", "{}: it is not in this version yet");
inline constexpr TextId kMetadataOnly =
    LATHE_TEXT("reason.metadata_only", "{}: it only changes a line of the metadata");
inline constexpr TextId kUnusedForAnima = LATHE_TEXT("reason.unused", "{}: nothing reads it when Anima is trained");

std::vector<Option> model_options();
std::vector<Option> dataset_options();
std::vector<Option> adapter_options();
std::vector<Option> training_options();
std::vector<Option> optimizer_options();
std::vector<Option> compile_options();
std::vector<Option> memory_options();
std::vector<Option> sample_options();
std::vector<Option> output_options();
std::vector<Option> logging_options();
std::vector<Option> advanced_options();

}  // namespace lathe::config::table
