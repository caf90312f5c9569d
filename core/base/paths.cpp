#include "core/base/paths.h"

#include <cstdlib>
#include <initializer_list>
#include <system_error>

#ifdef _WIN32
#include <windows.h>
#endif

namespace lathe {
namespace fs = std::filesystem;

namespace {

std::string from_u8(const std::u8string& text) {
  return {reinterpret_cast<const char*>(text.data()), text.size()};
}

fs::path from_environment(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr && *value != '\0' ? from_utf8(value) : fs::path();
}

}  // namespace

std::string to_utf8(const fs::path& path) {
  return from_u8(path.u8string());
}

std::string to_generic_utf8(const fs::path& path) {
  return from_u8(path.generic_u8string());
}

fs::path from_utf8(std::string_view text) {
  return fs::path(std::u8string(reinterpret_cast<const char8_t*>(text.data()), text.size()));
}

SplitExtension split_extension(std::string_view path) {
  const std::size_t slash = path.find_last_of("/\\");
  const std::size_t base = slash == std::string_view::npos ? 0 : slash + 1;
  const std::size_t first = path.find_first_not_of('.', base);
  const std::size_t dot = path.rfind('.');
  if (first == std::string_view::npos || dot == std::string_view::npos || dot < first) return {std::string(path), ""};
  return {std::string(path.substr(0, dot)), std::string(path.substr(dot))};
}

fs::path user_cache_folder() {
  if (fs::path chosen = from_environment("LATHE_CACHE_DIR"); !chosen.empty()) return chosen;
#ifdef _WIN32
  if (fs::path local = from_environment("LOCALAPPDATA"); !local.empty()) return local / "lathe" / "cache";
#endif
  if (fs::path xdg = from_environment("XDG_CACHE_HOME"); !xdg.empty() && xdg.is_absolute()) return xdg / "lathe";
  if (fs::path home = from_environment("HOME"); !home.empty()) {
#ifdef __APPLE__
    return home / "Library" / "Caches" / "lathe";
#else
    return home / ".cache" / "lathe";
#endif
  }
  return fs::temp_directory_path() / "lathe";
}

fs::path executable_folder() {
#ifdef _WIN32
  std::wstring buffer(32768, L'\0');
  buffer.resize(GetModuleFileNameW(nullptr, buffer.data(), static_cast<DWORD>(buffer.size())));
  return fs::path(buffer).parent_path();
#else
  std::error_code failed;
  const fs::path self = fs::read_symlink("/proc/self/exe", failed);
  return failed ? fs::current_path() : self.parent_path();
#endif
}

fs::path resource_folder() {
  if (fs::path chosen = from_environment("LATHE_RESOURCE_DIR"); !chosen.empty()) return chosen;
  const fs::path here = executable_folder();
  std::error_code ignored;
  for (const fs::path& candidate : {here / "resources", here / ".." / "share" / "lathe"}) {
    if (fs::is_directory(candidate / "tokenizers", ignored)) return candidate;
  }
  return fs::path(LATHE_SOURCE_FOLDER) / "resources";
}

}  // namespace lathe
