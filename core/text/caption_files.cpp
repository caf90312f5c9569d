#include "core/text/caption_files.h"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <system_error>

#include "core/base/error.h"
#include "core/base/files.h"
#include "core/base/format.h"
#include "core/base/paths.h"
#include "core/text/utf8.h"

namespace lathe::text {

namespace {

constexpr std::ptrdiff_t kFaceParts = 4;  // centre x, centre y, width, height

}  // namespace

std::vector<std::string> caption_candidates(std::string_view image_path, std::string_view caption_extension) {
  std::string extension;
  if (!caption_extension.empty() && !caption_extension.starts_with('.')) extension += '.';
  extension += caption_extension;
  const std::string stem = split_extension(image_path).stem;
  std::vector<std::string> candidates = {stem + extension};
  if (std::ranges::count(stem, '_') >= kFaceParts) {
    std::size_t end = stem.size();
    for (std::ptrdiff_t i = 0; i < kFaceParts; ++i) end = stem.rfind('_', end - 1);
    candidates.push_back(stem.substr(0, end) + extension);
  }
  return candidates;
}

std::string caption_of_bytes(std::string_view bytes, bool enable_wildcard, std::string_view path) {
  require_utf8(bytes, format("the caption file '{}'", path));
  if (bytes.empty()) {
    throw Error(ErrorKind::dataset,
                format("the caption file '{}' is empty; write a caption into it or remove it", path));
  }
  const std::string text = replace_all(replace_all(bytes, "\r\n", "\n"), "\r", "\n");
  const std::vector<std::string_view> lines = python_split(text, "\n");
  if (!enable_wildcard) return std::string(python_strip(lines.front()));
  std::vector<std::string> kept;
  for (const std::string_view line : lines) {
    const std::string_view stripped = python_strip(line);
    if (!stripped.empty()) kept.emplace_back(stripped);
  }
  return join(kept, "\n");
}

ImageCaption read_caption(std::string_view image_path, const CaptionSource& source) {
  for (const std::string& candidate : caption_candidates(image_path, source.caption_extension)) {
    const std::filesystem::path path = from_utf8(candidate);
    std::error_code ignored;
    if (!std::filesystem::is_regular_file(path, ignored)) continue;
    return {caption_of_bytes(read_text(path), source.enable_wildcard, candidate), candidate};
  }
  return {source.class_tokens, std::nullopt};
}

}  // namespace lathe::text
