#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace lathe::config {

// A number of steps given as in the reference: 100 (steps), 0.1 or "10%" (a share of all steps).
struct Steps {
  bool is_ratio = false;
  std::int64_t steps = 0;
  double ratio = 0.0;
  bool operator==(const Steps&) const = default;
};

// monostate: unset (the reference's None).
using Value = std::variant<std::monostate, bool, std::int64_t, double, std::string, Steps, std::vector<std::string>,
                           std::vector<double>>;

// Where a value came from; a later source wins.
enum class Source { standard, file, command_line, automatic };

// The settings of one run: a value for every option of the schema (schema.h), by the option's name. Asking for an
// option that the schema lacks, or as another type than the schema's, is a fault of ours and throws Error(internal).
class Settings {
 public:
  Settings();  // the defaults of the schema

  bool flag(std::string_view option) const;
  std::int64_t integer(std::string_view option) const;  // throws where unset
  double real(std::string_view option) const;           // integers are widened
  std::string text(std::string_view option) const;      // "" where unset
  std::optional<std::int64_t> maybe_integer(std::string_view option) const;
  std::optional<double> maybe_real(std::string_view option) const;
  std::optional<std::string> maybe_text(std::string_view option) const;
  Steps steps(std::string_view option) const;
  std::vector<std::string> list(std::string_view option) const;  // empty where unset
  std::vector<double> reals(std::string_view option) const;      // empty where unset

  bool is_set(std::string_view option) const;  // not None
  Source source(std::string_view option) const;
  bool is_default(std::string_view option) const;  // same value as the schema's default
  const Value& value(std::string_view option) const;
  // Sets without a check of choices and ranges (validate() does that); the type must be the schema's.
  void set(std::string_view option, Value value, Source source);

 private:
  struct Entry {
    Value value;
    Source source = Source::standard;
  };
  std::map<std::string, Entry, std::less<>> entries_;
};

}  // namespace lathe::config
