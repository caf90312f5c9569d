#include "core/dataset/cache_info.h"

#include <limits>
#include <nlohmann/json.hpp>
#include <system_error>

#include "core/base/error.h"
#include "core/base/files.h"
#include "core/base/format.h"
#include "core/dataset/json_members.h"

namespace lathe::dataset {

namespace fs = std::filesystem;
using nlohmann::json;

namespace {

int side(const json& value) {
  const auto number = value.get<std::int64_t>();
  if (number <= 0 || number > std::numeric_limits<int>::max()) throw Error(ErrorKind::format, "a side is not positive");
  return static_cast<int>(number);
}

}  // namespace

std::optional<std::vector<CachedInfo>> read_cache_info(const fs::path& folder) {
  const fs::path path = folder / kCacheInfoName;
  std::error_code ignored;
  if (!fs::exists(path, ignored)) return std::nullopt;
  const std::string text = read_text(path);
  std::vector<CachedInfo> entries;
  std::string at;
  try {
    const bool is_object = for_each_member(text, [&](const std::string& key, const json& value) {
      at = format(" (entry '{}')", key);
      const json& resolution = value.at("resolution");
      entries.push_back(
          {key, value.at("caption").get<std::string>(), {side(resolution.at(0)), side(resolution.at(1))}});
    });
    if (!is_object) throw Error(ErrorKind::format, "it holds no object");
  } catch (const std::exception& error) {
    throw Error(ErrorKind::format,
                format("{} cannot be used{}: {}; remove it to read the folder anew", path, at, error.what()));
  }
  return entries;
}

void write_cache_info(const fs::path& folder, const std::vector<CachedInfo>& entries) {
  std::string text = "{";
  for (const CachedInfo& entry : entries) {
    text += text.size() > 1 ? ",\n" : "\n";
    text += format("  {}: {{\n    \"caption\": {},\n    \"resolution\": [\n      {},\n      {}\n    ]\n  }}",
                   json(entry.key).dump(), json(entry.caption).dump(), entry.size.width, entry.size.height);
  }
  text += entries.empty() ? "}" : "\n}";
  write_text(folder / kCacheInfoName, text);
}

}  // namespace lathe::dataset
