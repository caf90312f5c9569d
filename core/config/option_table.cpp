#include "core/config/option_table.h"

#include <cassert>

namespace lathe::config::table {

namespace {

constexpr std::string_view kPrefix = "option.";

template <class T>
Value or_unset(const std::optional<T>& value) {
  return value ? Value(*value) : Value();
}

}  // namespace

Row::Row(OptionType kind, TextId text, Value standard_value) {
  assert(text.id.starts_with(kPrefix));
  name = text.id.substr(kPrefix.size());
  type = kind;
  standard = std::move(standard_value);
  help = text;
}

Row&& Row::one_of(std::initializer_list<std::string_view> names) && {
  choices.assign(names);
  return std::move(*this);
}

Row&& Row::usually(std::initializer_list<std::string_view> names) && {
  choices.assign(names);
  other_values = true;
  return std::move(*this);
}

Row&& Row::at_least(double low) && {
  min = low;
  return std::move(*this);
}

Row&& Row::above(double low) && {
  min = low;
  above_min = true;
  return std::move(*this);
}

Row&& Row::between(double low, double high) && {
  min = low;
  max = high;
  return std::move(*this);
}

Row&& Row::no_effect(TextId why) && {
  state = OptionClass::no_effect;
  reason = why;
  return std::move(*this);
}

Row&& Row::refused(TextId why) && {
  state = OptionClass::refused;
  reason = why;
  return std::move(*this);
}

Row&& Row::not_yet(TextId why) && {
  state = OptionClass::not_yet;
  reason = why;
  return std::move(*this);
}

Row&& Row::not_yet(std::initializer_list<std::string_view> some_values, TextId why) && {
  for (const std::string_view value : some_values) values.push_back({value, OptionClass::not_yet, why});
  return std::move(*this);
}

Row&& Row::refused(std::initializer_list<std::string_view> some_values, TextId why) && {
  for (const std::string_view value : some_values) values.push_back({value, OptionClass::refused, why});
  return std::move(*this);
}

Row&& Row::paths(PathKind kind) && {
  path = kind;
  return std::move(*this);
}

Row&& Row::later() && {
  origin = Origin::later;
  return std::move(*this);
}

Row&& Row::ours() && {
  origin = Origin::ours;
  return std::move(*this);
}

Row&& Row::is_secret() && {
  secret = true;
  return std::move(*this);
}

Row flag(TextId text, bool standard) {
  return Row(OptionType::flag, text, standard);
}

Row integer(TextId text, std::optional<std::int64_t> standard) {
  return Row(OptionType::integer, text, or_unset(standard));
}

Row real(TextId text, std::optional<double> standard) {
  return Row(OptionType::real, text, or_unset(standard));
}

Row real_from_integer(TextId text, std::int64_t standard) {
  return Row(OptionType::real, text, standard);
}

Row text(TextId text) {
  return Row(OptionType::text, text, Value());
}

Row text(TextId text, std::string_view standard) {
  return Row(OptionType::text, text, std::string(standard));
}

Row file(TextId text) {
  return Row(OptionType::path, text, Value()).paths(PathKind::file);
}

Row folder(TextId text) {
  return Row(OptionType::path, text, Value()).paths(PathKind::folder);
}

Row file_or_folder(TextId text) {
  return Row(OptionType::path, text, Value()).paths(PathKind::file_or_folder);
}

Row choice(TextId text, std::initializer_list<std::string_view> names) {
  return Row(OptionType::choice, text, Value()).one_of(names);
}

Row choice(TextId text, std::initializer_list<std::string_view> names, std::string_view standard) {
  return Row(OptionType::choice, text, std::string(standard)).one_of(names);
}

Row steps(TextId text) {
  return Row(OptionType::steps, text, Steps{});
}

Row text_list(TextId text) {
  return Row(OptionType::text_list, text, Value());
}

Row real_list(TextId text) {
  return Row(OptionType::real_list, text, Value());
}

}  // namespace lathe::config::table
