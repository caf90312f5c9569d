#include "core/config/value_check.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "core/config/python_literal.h"
#include "core/config/utf8.h"

namespace lathe::config {

namespace {

constexpr TextId kBetween = LATHE_TEXT("value.between", "{} must lie between {} and {}, not {}");
constexpr TextId kAtLeast = LATHE_TEXT("value.at_least", "{} must be at least {}, not {}");
constexpr TextId kAbove = LATHE_TEXT("value.above", "{} must be greater than {}, not {}");
constexpr TextId kNotFinite = LATHE_TEXT("value.not_finite", "{} must be a finite number, not {}");
constexpr TextId kChoice = LATHE_TEXT("value.choice", "{} must be one of {}; not '{}'");
constexpr TextId kChoiceNear = LATHE_TEXT("value.choice_near", "{} must be one of {}; not '{}'. Did you mean '{}'?");

// Whole numbers without a point, however large.
std::string shown_number(double number) {
  const bool whole = std::floor(number) == number && std::abs(number) < 1e15;
  return whole ? std::to_string(static_cast<std::int64_t>(number)) : python_repr(number);
}

std::optional<Message> range_problem(const Option& option, std::string_view shown, double number) {
  if (!std::isfinite(number)) return message(kNotFinite, shown, python_repr(number));
  const bool low = option.min && (option.above_min ? number <= *option.min : number < *option.min);
  const bool high = option.max && number > *option.max;
  if (!low && !high) return std::nullopt;
  const std::string is = shown_number(number);
  if (option.min && option.max) {
    return message(kBetween, shown, shown_number(*option.min), shown_number(*option.max), is);
  }
  return message(option.above_min ? kAbove : kAtLeast, shown, shown_number(*option.min), is);
}

std::optional<Message> choice_problem(const Option& option, std::string_view shown, const std::string& value) {
  if (option.choices.empty() || option.other_values) return std::nullopt;
  if (std::ranges::find(option.choices, value) != option.choices.end()) return std::nullopt;
  std::vector<std::string> names(option.choices.begin(), option.choices.end());
  const std::string nearest = option.type == OptionType::integer ? "" : nearest_name(value, names);
  const std::string all = join(names, ", ");
  return nearest.empty() ? message(kChoice, shown, all, one_line(value))
                         : message(kChoiceNear, shown, all, one_line(value), nearest);
}

}  // namespace

std::optional<Message> value_problem(const Option& option, std::string_view shown, const Value& value) {
  if (const auto* whole = std::get_if<std::int64_t>(&value)) {
    if (const auto choice = choice_problem(option, shown, std::to_string(*whole))) return choice;
    return range_problem(option, shown, static_cast<double>(*whole));
  }
  if (const auto* number = std::get_if<double>(&value)) return range_problem(option, shown, *number);
  if (const auto* steps = std::get_if<Steps>(&value)) {
    return range_problem(option, shown, steps->is_ratio ? steps->ratio : static_cast<double>(steps->steps));
  }
  if (const auto* text = std::get_if<std::string>(&value)) return choice_problem(option, shown, *text);
  if (const auto* numbers = std::get_if<std::vector<double>>(&value)) {
    for (const double number : *numbers) {
      if (auto problem = range_problem(option, shown, number)) return problem;
    }
  }
  return std::nullopt;
}

}  // namespace lathe::config
