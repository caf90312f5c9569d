#include "core/base/format.h"

#include <array>
#include <cmath>

#include <fmt/args.h>
#include <fmt/format.h>

#include "core/base/paths.h"

namespace lathe {

FormatArgument::FormatArgument(const std::filesystem::path& v) : value(to_utf8(v)) {}

FormatArgument::FormatArgument(const std::vector<std::int64_t>& v) {
  std::string text = "[";
  for (std::size_t i = 0; i < v.size(); ++i) {
    if (i > 0) text += ", ";
    text += std::to_string(v[i]);
  }
  value = text + "]";
}

std::string vformat(std::string_view pattern, const std::vector<FormatArgument>& arguments) {
  fmt::dynamic_format_arg_store<fmt::format_context> store;
  for (const FormatArgument& argument : arguments) {
    std::visit([&store](const auto& value) { store.push_back(value); }, argument.value);
  }
  try {
    return fmt::vformat(fmt::string_view(pattern.data(), pattern.size()), store);
  } catch (const std::exception& problem) {
    return std::string(pattern) + " [format: " + problem.what() + "]";
  }
}

std::string join(const std::vector<std::string>& parts, std::string_view separator) {
  std::string text;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) text += separator;
    text += parts[i];
  }
  return text;
}

std::string human_bytes(std::uint64_t bytes) {
  constexpr std::array units = {"B", "KiB", "MiB", "GiB", "TiB"};
  double amount = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (amount >= 1024.0 && unit + 1 < units.size()) {
    amount /= 1024.0;
    ++unit;
  }
  return unit == 0 ? format("{} B", bytes) : format("{:.1f} {}", amount, units[unit]);
}

std::string human_seconds(double seconds) {
  if (!std::isfinite(seconds)) return "unknown";
  if (seconds < 60.0) return format("{:.1f} s", seconds);
  const auto whole = static_cast<std::int64_t>(std::llround(seconds));
  if (whole < 3600) return format("{} min {} s", whole / 60, whole % 60);
  return format("{} h {} min", whole / 3600, whole % 3600 / 60);
}

}  // namespace lathe
