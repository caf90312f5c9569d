#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace lathe::testing {

struct TokenizerVector {
  std::string text;
  std::vector<std::int32_t> ids;
};

// All objects {"text", "ids"} of a golden file {"generator": …, "<section>": [object, …], …}.
std::vector<TokenizerVector> read_vectors(const std::string& golden);

// How many texts are encoded otherwise; the first few are written out.
int count_differences(const std::vector<TokenizerVector>& vectors,
                      const std::function<std::vector<std::int32_t>(const std::string&)>& encode);

// Ids as text, for messages: "3 9 1".
std::string ids_text(const std::vector<std::int32_t>& ids);
std::vector<std::int32_t> ids_of(const std::string& text);

}  // namespace lathe::testing
