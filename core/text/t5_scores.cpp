#include "core/text/t5_scores.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <utility>

#include "core/base/error.h"
#include "core/base/format.h"
#include "core/text/json_file.h"

namespace lathe::text {

namespace {

using nlohmann::json;

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

constexpr int kLargestPower = 308;

// The nearest double to 10^n; std::pow is not exact everywhere.
double power_of_ten(int n) {
  static const std::vector<double> powers = [] {
    std::vector<double> made;
    for (int i = 0; i <= kLargestPower; ++i) made.push_back(std::strtod(("1e" + std::to_string(i)).c_str(), nullptr));
    return made;
  }();
  return powers[static_cast<std::size_t>(n)];
}

// Integer × 10^exponent as serde_json's f64_from_parts.
double from_parts(std::uint64_t digits, int exponent) {
  auto value = static_cast<double>(digits);
  while (exponent < -kLargestPower && value != 0) {
    value /= power_of_ten(kLargestPower);
    exponent += kLargestPower;
  }
  if (value == 0) return 0;
  if (exponent > kLargestPower) return std::numeric_limits<double>::infinity();
  return exponent >= 0 ? value * power_of_ten(exponent) : value / power_of_ten(-exponent);
}

// Walks through a tokenizer.json and keeps model.vocab alone. Depth counts open objects and arrays.
class VocabularyReader : public JsonListener {
 public:
  UnigramVocabulary take() { return std::move(found_); }

  bool key(string_t& name) override {
    if (depth_ == 1) in_model_ = name == "model";
    if (depth_ == 2) in_vocabulary_ = in_model_ && name == "vocab";
    return true;
  }
  bool start_object(std::size_t) override { return ++depth_ > 0; }
  bool end_object() override { return leave(); }
  bool start_array(std::size_t) override { return ++depth_ > 0; }
  bool end_array() override {
    if (at_entry() && found_.pieces.size() != found_.scores.size()) wrong();
    return leave();
  }

  bool string(string_t& text) override {
    if (!at_entry()) return true;
    if (found_.pieces.size() != found_.scores.size()) wrong();
    found_.pieces.push_back(std::move(text));
    return true;
  }
  bool number_float(number_float_t, const string_t& text) override { return score(serde_number(text)); }
  bool number_integer(number_integer_t value) override { return score(static_cast<double>(value)); }
  bool number_unsigned(number_unsigned_t value) override { return score(static_cast<double>(value)); }

 private:
  bool at_entry() const { return in_vocabulary_ && depth_ == 4; }
  bool leave() {
    --depth_;
    if (depth_ == 2) in_vocabulary_ = false;
    return true;
  }
  bool score(double value) {
    if (!at_entry()) return true;
    found_.scores.push_back(value);
    if (found_.pieces.size() != found_.scores.size()) wrong();
    return true;
  }
  [[noreturn]] void wrong() const {
    throw Error(ErrorKind::format,
                format("entry {} of model.vocab is not [\"piece\", score]", found_.pieces.size() - 1));
  }

  UnigramVocabulary found_;
  int depth_ = 0;
  bool in_model_ = false;
  bool in_vocabulary_ = false;
};

}  // namespace

double serde_number(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  std::uint64_t digits = 0;
  int exponent = 0;
  bool fraction = false;
  bool full = false;
  std::size_t at = 0;
  for (; at < text.size() && (is_digit(text[at]) || text[at] == '.'); ++at) {
    if (text[at] == '.') {
      fraction = true;
      continue;
    }
    const auto digit = static_cast<std::uint64_t>(text[at] - '0');
    // Digits past 64 bits are dropped; those before the point still count as places.
    full = full || digits > (std::numeric_limits<std::uint64_t>::max() - digit) / 10;
    if (full) {
      exponent += fraction ? 0 : 1;
    } else {
      digits = digits * 10 + digit;
      exponent -= fraction ? 1 : 0;
    }
  }
  if (at < text.size()) {  // e or E
    const bool down = text.substr(at + 1).starts_with('-');
    int written = 0;
    for (const char c : text.substr(at + 1)) {
      if (is_digit(c) && written < 10000) written = written * 10 + (c - '0');
    }
    exponent += down ? -written : written;
  }
  const double value = from_parts(digits, exponent);
  return negative ? -value : value;
}

UnigramVocabulary read_unigram_vocabulary(std::string_view tokenizer_json) {
  VocabularyReader reader;
  json::sax_parse(tokenizer_json, &reader);
  return reader.take();
}

}  // namespace lathe::text
