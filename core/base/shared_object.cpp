#include "core/base/shared_object.h"

#include <system_error>
#include <utility>

#include "core/base/error.h"
#include "core/base/format.h"

#ifdef _WIN32
#include <windows.h>
#else
#include <dlfcn.h>
#endif

namespace lathe {

SharedObject::SharedObject(const std::filesystem::path& path) : path_(path) {
#ifdef _WIN32
  handle_ = LoadLibraryExW(path.c_str(), nullptr, LOAD_LIBRARY_SEARCH_DEFAULT_DIRS | LOAD_LIBRARY_SEARCH_DLL_LOAD_DIR);
  const std::string reason = handle_ == nullptr ? std::system_category().message(static_cast<int>(GetLastError())) : "";
#else
  handle_ = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  const char* said = handle_ == nullptr ? ::dlerror() : nullptr;
  const std::string reason = said != nullptr ? said : "";
#endif
  if (handle_ == nullptr) throw Error(ErrorKind::file, format("cannot load '{}': {}", path, reason));
}

SharedObject::~SharedObject() {
  if (handle_ == nullptr) return;
#ifdef _WIN32
  FreeLibrary(static_cast<HMODULE>(handle_));
#else
  ::dlclose(handle_);
#endif
}

SharedObject::SharedObject(SharedObject&& other) noexcept
    : path_(std::move(other.path_)), handle_(std::exchange(other.handle_, nullptr)) {}

SharedObject& SharedObject::operator=(SharedObject&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(handle_, other.handle_);
  return *this;
}

void* SharedObject::find(const std::string& symbol) const {
#ifdef _WIN32
  return reinterpret_cast<void*>(GetProcAddress(static_cast<HMODULE>(handle_), symbol.c_str()));
#else
  return ::dlsym(handle_, symbol.c_str());
#endif
}

void* SharedObject::need(const std::string& symbol) const {
  void* found = find(symbol);
  if (found == nullptr) throw Error(ErrorKind::format, format("'{}' has no function '{}'", path_, symbol));
  return found;
}

}  // namespace lathe
