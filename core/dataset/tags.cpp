#include "core/dataset/tags.h"

#include <utf8proc.h>
#include <algorithm>
#include <unordered_map>

#include "core/text/utf8.h"

namespace lathe::dataset {

namespace {

constexpr char32_t kCapitalSigma = 0x03A3, kFinalSigma = 0x03C2, kSigma = 0x03C3;
constexpr char32_t kDottedCapitalI = 0x0130, kDotAbove = 0x0307;

void append(std::string& text, char32_t point) {
  utf8proc_uint8_t bytes[4];
  const utf8proc_ssize_t count = utf8proc_encode_char(static_cast<utf8proc_int32_t>(point), bytes);
  text.append(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(count));
}

bool is_cased(char32_t point) {
  const utf8proc_category_t category = utf8proc_category(static_cast<utf8proc_int32_t>(point));
  return category == UTF8PROC_CATEGORY_LU || category == UTF8PROC_CATEGORY_LL || category == UTF8PROC_CATEGORY_LT;
}

// Marks and the like do not end a word.
bool is_ignored_by_case(char32_t point) {
  const utf8proc_category_t category = utf8proc_category(static_cast<utf8proc_int32_t>(point));
  return category == UTF8PROC_CATEGORY_MN || category == UTF8PROC_CATEGORY_ME || category == UTF8PROC_CATEGORY_CF ||
         category == UTF8PROC_CATEGORY_LM || category == UTF8PROC_CATEGORY_SK || point == '\'' || point == '.' ||
         point == ':' || point == 0x00B7 || point == 0x2019;
}

// A sigma at the end of a word: a cased letter before it, none after it.
bool ends_a_word(const std::vector<char32_t>& points, std::size_t at) {
  std::size_t before = at;
  while (before > 0 && is_ignored_by_case(points[before - 1])) --before;
  if (before == 0 || !is_cased(points[before - 1])) return false;
  std::size_t after = at + 1;
  while (after < points.size() && is_ignored_by_case(points[after])) ++after;
  return after == points.size() || !is_cased(points[after]);
}

}  // namespace

std::string python_lower(std::string_view text) {
  std::vector<char32_t> points;
  for (std::size_t at = 0; at < text.size();) {
    const text::CodePoint point = text::decode(text, at);
    points.push_back(point.value);
    at += point.size;
  }
  std::string lowered;
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (points[i] == kDottedCapitalI) {  // the one letter that becomes two
      append(lowered, 'i');
      append(lowered, kDotAbove);
    } else if (points[i] == kCapitalSigma) {
      append(lowered, ends_a_word(points, i) ? kFinalSigma : kSigma);
    } else {
      append(lowered, static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(points[i]))));
    }
  }
  return lowered;
}

void TagCounter::add(const std::string& folder, const std::vector<std::string_view>& captions) {
  auto mine = std::ranges::find(folders_, folder, &FolderTags::folder);
  if (mine == folders_.end()) mine = folders_.insert(folders_.end(), {folder, {}});
  std::unordered_map<std::string, std::size_t> places;
  for (std::size_t i = 0; i < mine->tags.size(); ++i) places.emplace(mine->tags[i].first, i);
  for (const std::string_view caption : captions) {
    for (const std::string_view part : text::python_split(caption, ",")) {
      const std::string_view tag = text::python_strip(part);
      if (tag.empty()) continue;
      const auto [place, is_new] = places.try_emplace(python_lower(tag), mine->tags.size());
      if (is_new) mine->tags.emplace_back(place->first, 0);
      ++mine->tags[place->second].second;
    }
  }
}

}  // namespace lathe::dataset
