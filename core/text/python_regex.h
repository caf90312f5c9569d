#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace lathe::text {

// A regular expression in Python's syntax, run by PCRE2. What Python would refuse is refused; what PCRE2 reads
// otherwise (\Z, \v, \u…, {,n}, '[' inside a set) is rewritten to mean the same. Not had: named characters (\N{…}) and
// the flags a, L and u, which are refused; Python's refusal of look-behinds of several widths and of \10 and up
// without such a group.
class PythonRegex {
 public:
  struct Compiled;

  // `pattern` is UTF-8. Where it is not a valid expression the result holds no regex and says why in `problem`.
  static Compiled compile(std::string_view pattern);

  // Python's re.fullmatch(pattern, subject) is not None. Throws Error(settings) where the subject is no valid UTF-8 or
  // the search takes more steps than any sensible pattern needs.
  bool full_match(std::string_view subject) const;

  const std::string& pattern() const { return pattern_; }

 private:
  struct Code;
  PythonRegex(std::string pattern, std::shared_ptr<const Code> code);

  std::string pattern_;
  std::shared_ptr<const Code> code_;
};

struct PythonRegex::Compiled {
  std::optional<PythonRegex> regex;
  std::string problem;  // empty where there is a regex
};

}  // namespace lathe::text
