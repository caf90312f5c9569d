#include "core/config/diagnostic.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "core/base/paths.h"
#include "core/config/utf8.h"

namespace lathe::config {

namespace {

char plain(char c) {
  return c == '-' ? '_' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
}

// Insertions, deletions, replacements and swaps of neighbours (optimal string alignment).
std::size_t edit_distance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> before_last, last(b.size() + 1), now(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    now[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t change = plain(a[i - 1]) == plain(b[j - 1]) ? 0 : 1;
      now[j] = std::min({last[j] + 1, now[j - 1] + 1, last[j - 1] + change});
      const bool swapped = i > 1 && j > 1 && plain(a[i - 1]) == plain(b[j - 2]) && plain(a[i - 2]) == plain(b[j - 1]);
      if (swapped) now[j] = std::min(now[j], before_last[j - 2] + 1);
    }
    before_last = std::exchange(last, now);
  }
  return last[b.size()];
}

}  // namespace

std::string Finding::english() const {
  std::string place;
  if (!file.empty()) {
    place = to_utf8(file) + ":";
    if (line > 0) place += std::to_string(line) + ":";
    place += " ";
  }
  return place + one_line(message.english(), std::string::npos);  // whatever a user's text holds
}

Finding& Findings::error(std::vector<std::string> fields, Message message) {
  return add({.severity = Severity::error, .fields = std::move(fields), .message = std::move(message)});
}

Finding& Findings::warning(std::vector<std::string> fields, Message message) {
  return add({.severity = Severity::warning, .fields = std::move(fields), .message = std::move(message)});
}

Finding& Findings::note(std::vector<std::string> fields, Message message) {
  return add({.severity = Severity::note, .fields = std::move(fields), .message = std::move(message)});
}

Finding& Findings::add(Finding finding) {
  return all_.emplace_back(std::move(finding));
}

bool Findings::has_errors() const {
  return count(Severity::error) > 0;
}

std::size_t Findings::count(Severity severity) const {
  return static_cast<std::size_t>(
      std::ranges::count_if(all_, [severity](const Finding& finding) { return finding.severity == severity; }));
}

std::string nearest_name(const std::string& name, const std::vector<std::string>& known) {
  constexpr std::size_t kLongestName = 100;  // nothing longer is a slip of the keyboard
  if (name.empty() || name.size() > kLongestName) return {};
  std::size_t best = name.size() / 3 + 1;
  std::string nearest;
  for (const std::string& candidate : known) {
    const std::size_t distance = edit_distance(name, candidate);
    if (distance < best) {
      best = distance;
      nearest = candidate;
    }
  }
  return nearest;
}

}  // namespace lathe::config
