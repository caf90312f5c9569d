#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/message.h"

namespace lathe::toolchain {

// Everything that shapes a kernel's binary, hashed: add each part with its name, then take the key.
class CacheKey {
 public:
  CacheKey& add(std::string_view name, std::string_view value);
  std::string hex() const;  // 64 digits

 private:
  std::string text_;
};

// Built kernels on disk, shared by processes. An entry is two files, <key><suffix> and <key>.check with its size and
// SHA-256: one that is cut, foreign or changed is dropped and built again. Files are written aside and renamed, so that
// processes that build the same kernel at once both end with a whole file. Past `limit_bytes` the entries used longest
// ago go first. On a POSIX system the folder has mode 0700 and must belong to this user; a folder that misbehaves is
// tried again and then replaced by a private temporary one for this process, with one warning.
class KernelCache {
 public:
  using Warn = std::function<void(Message)>;
  // An empty `folder`: kernels/ under the user's cache folder.
  explicit KernelCache(std::filesystem::path folder = {}, std::uint64_t limit_bytes = std::uint64_t{1} << 30,
                       Warn warn = {});
  ~KernelCache();

  // The file of a good entry, marked as used now; nothing where there is none.
  std::optional<std::filesystem::path> find(const std::string& key, std::string_view suffix);
  // Stores what `build` writes to the path it is given (a file name ending in `suffix`) and returns the entry's path.
  std::filesystem::path put(const std::string& key, std::string_view suffix,
                            const std::function<void(const std::filesystem::path&)>& build);
  const std::filesystem::path& folder() const { return folder_; }
  std::uint64_t size_bytes() const;  // of all entries
  // Removes the least recently used entries until the rest is within the limit. Called by put().
  void evict();

 private:
  void use_private_folder(const std::string& reason);
  std::filesystem::path store(const std::string& key, std::string_view suffix, const std::filesystem::path& built);

  std::filesystem::path folder_;
  std::uint64_t limit_bytes_;
  Warn warn_;
  bool private_ = false;
  std::mutex mutex_;
};

}  // namespace lathe::toolchain
