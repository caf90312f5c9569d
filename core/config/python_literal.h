#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/config/diagnostic.h"
#include "core/config/settings.h"

// Values in Python's notation: what optimizer_args holds, and what the reference writes into metadata.
namespace lathe::config {

struct PythonValue {
  enum class Kind { none, boolean, integer, real, text, list, tuple, dict };
  Kind kind = Kind::none;
  bool boolean = false;
  std::int64_t integer = 0;
  double real = 0.0;
  std::string text;
  std::vector<PythonValue> items;  // list, tuple; of a dict: key, value, key, value …

  // Of an integer or real; nullopt otherwise.
  std::optional<double> number() const;
  bool operator==(const PythonValue&) const = default;
};

// As ast.literal_eval: None, True, False, numbers, texts (with prefixes, joined, triple-quoted), tuples (with and
// without parentheses), lists, dicts. nullopt: anything else, integers beyond 64 bits, sets, bytes and complex numbers
// included.
std::optional<PythonValue> parse_python_literal(std::string_view text);

// int(text) and float(text) of Python: spaces around, a sign, underscores between digits; "inf" and "nan" for numbers.
std::optional<std::int64_t> parse_python_int(std::string_view text);
std::optional<double> parse_python_float(std::string_view text);

// repr() of a float: the shortest digits that read back to the same number, 1e-06, 0.0001, 1.0, 1e+16, inf, nan.
std::string python_repr(double number);
std::string python_repr(const std::string& text);
std::string python_repr(const PythonValue& value);
std::string python_str(const PythonValue& value);  // as repr, but a text is itself
std::string python_str(const Value& value);        // of a setting: None, True, 16, 1e-06, ['a', 'b']

struct KeyValue {
  std::string key;
  std::string text;   // right of the first '='
  PythonValue value;  // of parse_literals only
};

// The key=value items of a list option; items without '=' or key are errors. A key given twice: the last one stays.
std::vector<KeyValue> parse_key_values(const Settings& settings, std::string_view option, Findings& findings);
// As above with values in Python's notation (optimizer_args, lr_scheduler_args).
std::vector<KeyValue> parse_literals(const Settings& settings, std::string_view option, Findings& findings);

}  // namespace lathe::config
