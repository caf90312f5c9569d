#pragma once

#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

namespace lathe {

// Text with {} fields in fmt's own syntax ({}, {:.3f}, {:>8}, {0}). No header of ours shows fmt: the torch wheel
// carries another version of it. Throws nothing: a pattern that does not fit its arguments is returned with a note.
struct FormatArgument {
  std::variant<std::int64_t, std::uint64_t, double, bool, std::string> value;

  FormatArgument(bool v) : value(v) {}
  template <class T>
  requires(std::is_integral_v<T>&& std::is_signed_v<T>) FormatArgument(T v) : value(static_cast<std::int64_t>(v)) {}
  template <class T>
  requires(std::is_integral_v<T>&& std::is_unsigned_v<T>) FormatArgument(T v) : value(static_cast<std::uint64_t>(v)) {}
  template <class T>
  requires std::is_floating_point_v<T> FormatArgument(T v) : value(static_cast<double>(v)) {}
  FormatArgument(const char* v) : value(std::string(v)) {}
  FormatArgument(std::string_view v) : value(std::string(v)) {}
  FormatArgument(std::string v) : value(std::move(v)) {}
  FormatArgument(const std::filesystem::path& v);  // as UTF-8
  // A shape: [2, 16, 8, 8].
  FormatArgument(const std::vector<std::int64_t>& v);
};

std::string vformat(std::string_view pattern, const std::vector<FormatArgument>& arguments);

// The pattern's type is left open so that this is the better match: an argument of std:: makes std::format a candidate
// too where <format> is seen.
template <class Pattern, class... Arguments>
requires(std::is_convertible_v<const Pattern&, std::string_view>) std::string
    format(const Pattern& pattern, Arguments&&... arguments) {
  return vformat(pattern, std::vector<FormatArgument>{FormatArgument(std::forward<Arguments>(arguments))...});
}

// "a, b, c"
std::string join(const std::vector<std::string>& parts, std::string_view separator);
// 1536 → "1.5 KiB".
std::string human_bytes(std::uint64_t bytes);
// 95.4 → "1 min 35 s"; under a minute one decimal.
std::string human_seconds(double seconds);

}  // namespace lathe
