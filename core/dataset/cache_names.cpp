#include "core/dataset/cache_names.h"

#include <charconv>

#include "core/base/format.h"
#include "core/base/paths.h"

namespace lathe::dataset {

namespace {

constexpr std::string_view kLatentEnd = "_anima.npz";
constexpr std::string_view kTextEnd = "_anima_te.npz";

std::optional<int> number(std::string_view digits) {
  int value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  const bool whole = error == std::errc() && end == digits.data() + digits.size();
  return whole && value > 0 ? std::optional(value) : std::nullopt;
}

}  // namespace

std::string latent_cache_name(std::string_view image_path, Size size) {
  return format("{}_{:04d}x{:04d}{}", split_extension(image_path).stem, size.width, size.height, kLatentEnd);
}

std::string text_cache_name(std::string_view image_path) {
  return split_extension(image_path).stem + std::string(kTextEnd);
}

std::optional<LatentCacheName> parse_latent_cache_name(std::string_view name) {
  if (!name.ends_with(kLatentEnd)) return std::nullopt;
  name.remove_suffix(kLatentEnd.size());
  const std::size_t underscore = name.rfind('_');
  if (underscore == std::string_view::npos) return std::nullopt;
  const std::string_view size = name.substr(underscore + 1);
  const std::size_t cross = size.find('x');
  if (cross == std::string_view::npos) return std::nullopt;
  const std::optional<int> width = number(size.substr(0, cross)), height = number(size.substr(cross + 1));
  if (!width || !height) return std::nullopt;
  return LatentCacheName{std::string(name.substr(0, underscore)), {*width, *height}};
}

}  // namespace lathe::dataset
