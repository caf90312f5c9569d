#include "core/text/json_file.h"

#include "core/base/error.h"
#include "core/base/files.h"
#include "core/base/format.h"

namespace lathe::text {

nlohmann::json read_json(const std::filesystem::path& path) {
  const std::string bytes = read_text(path);
  try {
    return nlohmann::json::parse(bytes);
  } catch (const nlohmann::json::exception& e) {
    throw Error(ErrorKind::format, format("'{}' is not valid JSON: {}", path, e.what()));
  }
}

bool JsonListener::parse_error(std::size_t, const std::string&, const nlohmann::json::exception& error) {
  throw Error(ErrorKind::format, format("it is not valid JSON: {}", error.what()));
}

void add_token(AddedTokens& tokens, const nlohmann::json& entry, std::int32_t id) {
  const std::string content = entry.at("content").get<std::string>();
  for (const char* flag : {"lstrip", "rstrip", "single_word", "normalized"}) {
    if (entry.value(flag, false)) {
      throw Error(ErrorKind::format,
                  format("the added token '{}' has \"{}\": true, which is not supported; its ids would be wrong",
                         content, flag));
    }
  }
  tokens.add(content, id);
}

}  // namespace lathe::text
