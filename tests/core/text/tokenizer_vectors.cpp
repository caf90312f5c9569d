#include "tests/core/text/tokenizer_vectors.h"

#include <sstream>

#include <QDebug>
#include <nlohmann/json.hpp>

#include "core/base/files.h"
#include "core/base/paths.h"
#include "tests/support/golden.h"

namespace lathe::testing {

std::vector<TokenizerVector> read_vectors(const std::string& golden) {
  std::vector<TokenizerVector> vectors;
  const auto file = nlohmann::json::parse(read_text(golden_folder() / from_utf8(golden)));
  for (const auto& section : file) {
    if (!section.is_array()) continue;
    for (const auto& vector : section) {
      vectors.push_back({vector.at("text").get<std::string>(), vector.at("ids").get<std::vector<std::int32_t>>()});
    }
  }
  return vectors;
}

int count_differences(const std::vector<TokenizerVector>& vectors,
                      const std::function<std::vector<std::int32_t>(const std::string&)>& encode) {
  constexpr int kShown = 3;
  int differences = 0;
  for (const TokenizerVector& vector : vectors) {
    const std::vector<std::int32_t> ids = encode(vector.text);
    if (ids == vector.ids || differences++ >= kShown) continue;
    qWarning() << QString::fromStdString(vector.text) << "gives" << ids_text(ids).c_str() << "expected"
               << ids_text(vector.ids).c_str();
  }
  return differences;
}

std::string ids_text(const std::vector<std::int32_t>& ids) {
  std::ostringstream text;
  for (std::size_t i = 0; i < ids.size(); ++i) text << (i > 0 ? " " : "") << ids[i];
  return text.str();
}

std::vector<std::int32_t> ids_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::int32_t> ids;
  for (std::int32_t id = 0; stream >> id;) ids.push_back(id);
  return ids;
}

}  // namespace lathe::testing
