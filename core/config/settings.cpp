#include "core/config/settings.h"

#include <utility>

#include "core/base/error.h"
#include "core/base/format.h"
#include "core/config/schema.h"

namespace lathe::config {

namespace {

[[noreturn]] void wrong(std::string_view option, std::string_view what) {
  throw Error(ErrorKind::internal, format("option '{}' {}", option, what));
}

template <class T>
const T& as(std::string_view option, const Value& value) {
  if (std::holds_alternative<std::monostate>(value)) wrong(option, "is unset and was asked for its value");
  const T* found = std::get_if<T>(&value);
  if (found == nullptr) wrong(option, "was asked for as another type than its own");
  return *found;
}

bool unset(const Value& value) {
  return std::holds_alternative<std::monostate>(value);
}

}  // namespace

Settings::Settings() {
  for (const Option& row : options()) entries_.emplace(std::string(row.name), Entry{row.standard, Source::standard});
}

const Value& Settings::value(std::string_view option) const {
  const auto found = entries_.find(option);
  if (found == entries_.end()) wrong(option, "does not exist");
  return found->second.value;
}

bool Settings::flag(std::string_view option) const {
  return as<bool>(option, value(option));
}

std::int64_t Settings::integer(std::string_view option) const {
  return as<std::int64_t>(option, value(option));
}

double Settings::real(std::string_view option) const {
  const Value& held = value(option);
  if (const auto* whole = std::get_if<std::int64_t>(&held)) return static_cast<double>(*whole);
  return as<double>(option, held);
}

std::string Settings::text(std::string_view option) const {
  return maybe_text(option).value_or("");
}

std::optional<std::int64_t> Settings::maybe_integer(std::string_view option) const {
  if (unset(value(option))) return std::nullopt;
  return integer(option);
}

std::optional<double> Settings::maybe_real(std::string_view option) const {
  if (unset(value(option))) return std::nullopt;
  return real(option);
}

std::optional<std::string> Settings::maybe_text(std::string_view option) const {
  const Value& held = value(option);
  if (unset(held)) return std::nullopt;
  return as<std::string>(option, held);
}

Steps Settings::steps(std::string_view option) const {
  return as<Steps>(option, value(option));
}

std::vector<std::string> Settings::list(std::string_view option) const {
  const Value& held = value(option);
  if (unset(held)) return {};
  return as<std::vector<std::string>>(option, held);
}

std::vector<double> Settings::reals(std::string_view option) const {
  const Value& held = value(option);
  if (unset(held)) return {};
  return as<std::vector<double>>(option, held);
}

bool Settings::is_set(std::string_view option) const {
  return !unset(value(option));
}

Source Settings::source(std::string_view option) const {
  const auto found = entries_.find(option);
  if (found == entries_.end()) wrong(option, "does not exist");
  return found->second.source;
}

bool Settings::is_default(std::string_view option) const {
  return value(option) == config::option(option).standard;
}

void Settings::set(std::string_view option, Value value, Source source) {
  const auto found = entries_.find(option);
  if (found == entries_.end()) wrong(option, "does not exist");
  if (!config::option(option).accepts(value)) wrong(option, "was given a value of another type than its own");
  found->second = {std::move(value), source};
}

}  // namespace lathe::config
