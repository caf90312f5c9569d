#pragma once

#include <string>
#include <string_view>
#include <vector>

// How Hugging Face's `tokenizers` comes by the scores of a unigram vocabulary.
namespace lathe::text {

// A JSON number as serde_json's fast path reads it: all digits as one integer, converted to double, then divided or
// multiplied by a power of ten. Up to one unit in the last place beside the nearest double, which decides ties between
// segmentations of equal score.
double serde_number(std::string_view json_number);

struct UnigramVocabulary {
  std::vector<std::string> pieces;
  std::vector<double> scores;
};

// model.vocab of a tokenizer.json: [["piece", score], …]. Throws Error(format) where it is another layout or no JSON.
UnigramVocabulary read_unigram_vocabulary(std::string_view tokenizer_json);

}  // namespace lathe::text
