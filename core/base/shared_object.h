#pragma once

#include <filesystem>
#include <string>

namespace lathe {

// A shared library opened at run time by its full path. Unloaded with the object.
class SharedObject {
 public:
  explicit SharedObject(const std::filesystem::path& path);  // Error(file) with the loader's reason
  ~SharedObject();
  SharedObject(SharedObject&& other) noexcept;
  SharedObject& operator=(SharedObject&& other) noexcept;
  SharedObject(const SharedObject&) = delete;
  SharedObject& operator=(const SharedObject&) = delete;

  void* find(const std::string& symbol) const;  // null: not there
  // The function of that name; Error(format) where it is not there.
  template <class Function>
  Function* function(const std::string& symbol) const {
    return reinterpret_cast<Function*>(need(symbol));
  }

 private:
  void* need(const std::string& symbol) const;
  std::filesystem::path path_;
  void* handle_ = nullptr;
};

}  // namespace lathe
