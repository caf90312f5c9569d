#include "core/config/path_hint.h"

#include <string>
#include <system_error>
#include <vector>

#include "core/base/paths.h"
#include "core/config/diagnostic.h"

namespace lathe::config {

namespace fs = std::filesystem;

namespace {

constexpr TextId kNoFile = LATHE_TEXT("path.no_file", "{}: there is no file {}");
constexpr TextId kNoFileNear = LATHE_TEXT("path.no_file_near", "{}: there is no file {}; did you mean {}?");
constexpr TextId kNoFileAbove = LATHE_TEXT("path.no_file_above", "{}: there is no file {}, since {} is not there");
constexpr TextId kNoFolder = LATHE_TEXT("path.no_folder", "{}: there is no folder {}");
constexpr TextId kNoFolderNear = LATHE_TEXT("path.no_folder_near", "{}: there is no folder {}; did you mean {}?");
constexpr TextId kNoFolderAbove =
    LATHE_TEXT("path.no_folder_above", "{}: there is no folder {}, since {} is not there");

constexpr std::size_t kMostEntries = 10000;

bool is_there(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

fs::path nearest_sibling(const fs::path& path, const fs::path& parent) {
  std::vector<std::string> siblings;
  std::error_code failed;
  for (fs::directory_iterator entry(parent, failed), end; !failed && entry != end; entry.increment(failed)) {
    siblings.push_back(to_utf8(entry->path().filename()));
    if (siblings.size() == kMostEntries) break;
  }
  const std::string nearest = nearest_name(to_utf8(path.filename()), siblings);
  if (nearest.empty()) return {};
  return path.has_parent_path() ? parent / from_utf8(nearest) : from_utf8(nearest);
}

}  // namespace

Message missing_path(std::string_view option, const fs::path& missing, bool is_folder) {
  const fs::path path = missing.has_filename() ? missing : missing.parent_path();  // without a slash at its end
  const fs::path parent = path.has_parent_path() ? path.parent_path() : fs::path(".");
  if (!is_there(parent)) {
    fs::path lost = parent;
    while (lost.has_parent_path() && lost.parent_path() != lost && !is_there(lost.parent_path())) {
      lost = lost.parent_path();
    }
    return message(is_folder ? kNoFolderAbove : kNoFileAbove, option, missing, lost);
  }
  const fs::path nearest = nearest_sibling(path, parent);
  if (nearest.empty()) return message(is_folder ? kNoFolder : kNoFile, option, missing);
  return message(is_folder ? kNoFolderNear : kNoFileNear, option, missing, nearest);
}

}  // namespace lathe::config
