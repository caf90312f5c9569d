#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace lathe::ir {

using SymbolId = std::int32_t;

// An integer that may depend on symbols: the sum of (numerator/denominator) · product of symbols. A plain integer is
// one term without factors, zero is no term. Kept canonical: factors ascending, equal products merged, fractions
// reduced, no zero terms, terms ordered by factors; so equal sizes compare equal.
class Size {
 public:
  struct Term {
    std::int64_t numerator = 0, denominator = 1;
    std::vector<SymbolId> factors;
    bool operator==(const Term&) const = default;
  };

  Size() = default;
  Size(std::int64_t value);  // NOLINT: integers are sizes
  static Size symbol(SymbolId id);
  static Size from_terms(std::vector<Term> terms);

  bool is_constant() const;
  std::optional<std::int64_t> constant() const;
  const std::vector<Term>& terms() const { return terms_; }
  // Value with `symbols[id]` for each symbol; Error(internal) where a fraction does not come out whole.
  std::int64_t evaluate(std::span<const std::int64_t> symbols) const;

  Size operator+(const Size& other) const;
  Size operator-(const Size& other) const;
  Size operator*(const Size& other) const;
  // Exact quotient where every term divides; otherwise nothing.
  std::optional<Size> divided_by(const Size& divisor) const;
  bool operator==(const Size&) const = default;

 private:
  std::vector<Term> terms_;
};

// "s0*s1/2 + 3", "128", "0"; read back by parse_size.
std::string print(const Size& size);
std::optional<Size> parse_size(std::string_view text);

}  // namespace lathe::ir
