#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace lathe {

// Paths are UTF-8 in every file and message of ours, on every system.
std::string to_utf8(const std::filesystem::path& path);          // with the system's own separators
std::string to_generic_utf8(const std::filesystem::path& path);  // with '/'
std::filesystem::path from_utf8(std::string_view text);

// Python's os.path.splitext on the base name: the last dot, leading dots excluded. "dir/a.b.png" → {"dir/a.b", ".png"}.
struct SplitExtension {
  std::string stem;
  std::string extension;
};
SplitExtension split_extension(std::string_view path);

// $LATHE_CACHE_DIR, else the user's cache folder + "lathe" ($XDG_CACHE_HOME, %LOCALAPPDATA%, ~/Library/Caches,
// ~/.cache).
std::filesystem::path user_cache_folder();
// Folder of the running executable.
std::filesystem::path executable_folder();
// Where the files of resources/ are: $LATHE_RESOURCE_DIR, beside the executable, ../share/lathe, or the source tree.
std::filesystem::path resource_folder();

}  // namespace lathe
