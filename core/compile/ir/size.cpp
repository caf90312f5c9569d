#include "core/compile/ir/size.h"

#include <algorithm>
#include <charconv>
#include <numeric>

#include "core/base/error.h"
#include "core/base/format.h"

namespace lathe::ir {

namespace {

void reduce(Size::Term& term) {
  const std::int64_t divisor = std::gcd(term.numerator, term.denominator);
  if (divisor > 1) {
    term.numerator /= divisor;
    term.denominator /= divisor;
  }
}

// Reads "12", "s3", "1/2" pieces of print()'s text.
class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  bool at_end() {
    skip_spaces();
    return position_ == text_.size();
  }
  bool take(char c) {
    skip_spaces();
    if (position_ >= text_.size() || text_[position_] != c) return false;
    ++position_;
    return true;
  }
  std::optional<std::int64_t> number() {
    skip_spaces();
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text_.data() + position_, text_.data() + text_.size(), value);
    if (error != std::errc()) return std::nullopt;
    position_ = static_cast<std::size_t>(end - text_.data());
    return value;
  }

 private:
  void skip_spaces() {
    while (position_ < text_.size() && text_[position_] == ' ') ++position_;
  }
  std::string_view text_;
  std::size_t position_ = 0;
};

std::optional<Size::Term> read_term(Reader& reader, bool negative) {
  Size::Term term{negative ? -1 : 1, 1, {}};
  do {
    if (reader.take('s')) {
      const auto id = reader.number();
      if (!id || *id < 0) return std::nullopt;
      term.factors.push_back(static_cast<SymbolId>(*id));
    } else {
      const auto value = reader.number();
      if (!value) return std::nullopt;
      term.numerator *= *value;
    }
  } while (reader.take('*'));
  if (reader.take('/')) {
    const auto value = reader.number();
    if (!value || *value <= 0) return std::nullopt;
    term.denominator = *value;
  }
  return term;
}

}  // namespace

Size::Size(std::int64_t value) {
  if (value != 0) terms_.push_back({value, 1, {}});
}

Size Size::symbol(SymbolId id) {
  return from_terms({{1, 1, {id}}});
}

Size Size::from_terms(std::vector<Term> terms) {
  for (Term& term : terms) std::sort(term.factors.begin(), term.factors.end());
  std::sort(terms.begin(), terms.end(), [](const Term& a, const Term& b) { return a.factors > b.factors; });
  Size size;
  for (Term& term : terms) {
    if (!size.terms_.empty() && size.terms_.back().factors == term.factors) {
      Term& last = size.terms_.back();
      last.numerator = last.numerator * term.denominator + term.numerator * last.denominator;
      last.denominator *= term.denominator;
      reduce(last);
    } else {
      reduce(term);
      size.terms_.push_back(std::move(term));
    }
  }
  std::erase_if(size.terms_, [](const Term& term) { return term.numerator == 0; });
  return size;
}

bool Size::is_constant() const {
  return constant().has_value();
}

std::optional<std::int64_t> Size::constant() const {
  if (terms_.empty()) return 0;
  if (terms_.size() == 1 && terms_[0].factors.empty() && terms_[0].denominator == 1) return terms_[0].numerator;
  return std::nullopt;
}

std::int64_t Size::evaluate(std::span<const std::int64_t> symbols) const {
  // Over the common denominator, so that 1/2 + 1/2 comes out whole.
  std::int64_t denominator = 1;
  for (const Term& term : terms_) denominator = std::lcm(denominator, term.denominator);
  std::int64_t sum = 0;
  for (const Term& term : terms_) {
    std::int64_t product = term.numerator * (denominator / term.denominator);
    for (const SymbolId id : term.factors) product *= symbols[static_cast<std::size_t>(id)];
    sum += product;
  }
  if (sum % denominator != 0) {
    throw Error(ErrorKind::internal, format("the size {} is not whole at these symbols", print(*this)));
  }
  return sum / denominator;
}

// Most sizes are plain numbers, and many of the others meet 0 or 1: those need no list of terms.
Size Size::operator+(const Size& other) const {
  if (other.terms_.empty()) return *this;
  if (terms_.empty()) return other;
  std::vector<Term> terms = terms_;
  terms.insert(terms.end(), other.terms_.begin(), other.terms_.end());
  return from_terms(std::move(terms));
}

Size Size::operator-(const Size& other) const {
  return *this + other * Size(-1);
}

Size Size::operator*(const Size& other) const {
  const auto plain = [](const Size& size) {
    return size.terms_.size() == 1 && size.terms_[0].factors.empty() && size.terms_[0].denominator == 1;
  };
  if (terms_.empty() || other.terms_.empty()) return Size();
  if (plain(*this) && plain(other)) return Size(terms_[0].numerator * other.terms_[0].numerator);
  if (plain(*this) && terms_[0].numerator == 1) return other;
  if (plain(other) && other.terms_[0].numerator == 1) return *this;
  std::vector<Term> terms;
  for (const Term& a : terms_) {
    for (const Term& b : other.terms_) {
      Term product{a.numerator * b.numerator, a.denominator * b.denominator, a.factors};
      product.factors.insert(product.factors.end(), b.factors.begin(), b.factors.end());
      terms.push_back(std::move(product));
    }
  }
  return from_terms(std::move(terms));
}

std::optional<Size> Size::divided_by(const Size& divisor) const {
  if (divisor.terms_.size() != 1) return *this == divisor ? std::optional<Size>(1) : std::nullopt;
  const Term& by = divisor.terms_[0];
  std::vector<Term> terms;
  for (Term term : terms_) {
    for (const SymbolId id : by.factors) {
      const auto found = std::find(term.factors.begin(), term.factors.end(), id);
      if (found == term.factors.end()) return std::nullopt;
      term.factors.erase(found);
    }
    term.numerator *= by.denominator;
    term.denominator *= by.numerator;
    if (term.denominator < 0) {
      term.numerator = -term.numerator;
      term.denominator = -term.denominator;
    }
    reduce(term);
    if (term.factors.empty() && term.denominator != 1 && terms_.size() == 1) return std::nullopt;
    terms.push_back(std::move(term));
  }
  return from_terms(std::move(terms));
}

std::string print(const Size& size) {
  if (size.terms().empty()) return "0";
  std::string text;
  for (const Size::Term& term : size.terms()) {
    const bool negative = term.numerator < 0;
    if (text.empty()) {
      if (negative) text += "-";
    } else {
      text += negative ? " - " : " + ";
    }
    const std::int64_t magnitude = negative ? -term.numerator : term.numerator;
    std::vector<std::string> factors;
    if (magnitude != 1 || term.factors.empty()) factors.push_back(std::to_string(magnitude));
    for (const SymbolId id : term.factors) factors.push_back("s" + std::to_string(id));
    text += join(factors, "*");
    if (term.denominator != 1) text += "/" + std::to_string(term.denominator);
  }
  return text;
}

std::optional<Size> parse_size(std::string_view text) {
  Reader reader(text);
  std::vector<Size::Term> terms;
  bool negative = reader.take('-');
  for (;;) {
    const auto term = read_term(reader, negative);
    if (!term) return std::nullopt;
    terms.push_back(*term);
    if (reader.at_end()) return Size::from_terms(std::move(terms));
    negative = reader.take('-');
    if (!negative && !reader.take('+')) return std::nullopt;
  }
}

}  // namespace lathe::ir
