#include "core/compile/toolchain/kernel_cache.h"

#include <algorithm>
#include <random>
#include <system_error>
#include <thread>

#include "core/base/error.h"
#include "core/base/files.h"
#include "core/base/format.h"
#include "core/base/hash.h"
#include "core/base/paths.h"

#ifndef _WIN32
#include <sys/stat.h>
#include <unistd.h>
#endif

namespace lathe::toolchain {

namespace fs = std::filesystem;

namespace {

constexpr TextId kPrivate = LATHE_TEXT("cache.private",
                                       "the kernel cache '{}' cannot be used ({}); this run keeps its kernels in "
                                       "a temporary folder; set compile_cache_dir to another folder");
constexpr int kTries = 4;

// Why kernels must not be loaded from or stored in this folder; empty: fine. Makes it where it is missing.
std::string why_unusable(const fs::path& folder) {
  std::error_code failed;
  fs::create_directories(folder, failed);
  if (failed) return failed.message();
#ifndef _WIN32
  struct stat status {};
  if (::stat(folder.c_str(), &status) != 0) return "it cannot be looked at";
  if (status.st_uid != ::geteuid()) return "it belongs to another user";
  if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0) return "others may write to it";
#endif
  return why_not_writable(folder);
}

fs::path random_name(const fs::path& folder, std::string_view suffix) {
  std::random_device random;
  return folder / format("build-{:08x}{:08x}{}", random(), random(), suffix);
}

std::string check_text(const fs::path& file) {
  const MappedFile mapped(file);
  return format("{} {}", static_cast<std::uint64_t>(mapped.bytes().size()), sha256_hex(mapped.bytes()));
}

void remove_entry(const fs::path& file, const fs::path& check) {
  std::error_code ignored;
  fs::remove(check, ignored);
  fs::remove(file, ignored);
}

}  // namespace

CacheKey& CacheKey::add(std::string_view name, std::string_view value) {
  text_ += format("{}={}:", name, static_cast<std::uint64_t>(value.size()));  // with lengths no two lists of parts meet
  text_ += value;
  text_ += '\n';
  return *this;
}

std::string CacheKey::hex() const {
  return sha256_hex(text_);
}

KernelCache::KernelCache(fs::path folder, std::uint64_t limit_bytes, Warn warn)
    : folder_(folder.empty() ? user_cache_folder() / "kernels" : std::move(folder)),
      limit_bytes_(limit_bytes),
      warn_(std::move(warn)) {
#ifndef _WIN32
  std::error_code ignored;
  if (fs::create_directories(folder_, ignored)) fs::permissions(folder_, fs::perms::owner_all, ignored);
#endif
  if (const std::string reason = why_unusable(folder_); !reason.empty()) use_private_folder(reason);
}

KernelCache::~KernelCache() {
  std::error_code ignored;
  if (private_) fs::remove_all(folder_, ignored);
}

void KernelCache::use_private_folder(const std::string& reason) {
  if (warn_) warn_(message(kPrivate, folder_, reason));
  private_ = true;
  do {
    folder_ = random_name(fs::temp_directory_path(), "-lathe");
  } while (!fs::create_directory(folder_));
  fs::permissions(folder_, fs::perms::owner_all);
}

std::optional<fs::path> KernelCache::find(const std::string& key, std::string_view suffix) {
  const std::lock_guard lock(mutex_);
  const fs::path file = folder_ / (key + std::string(suffix));
  const fs::path check = folder_ / (key + ".check");
  std::error_code failed;
  if (!fs::exists(file, failed) || !fs::exists(check, failed)) return std::nullopt;
  try {
    if (read_text(check) == check_text(file)) {
      fs::last_write_time(check, fs::file_time_type::clock::now(), failed);
      return file;
    }
  } catch (const Error&) {  // unreadable: as good as none
  }
  remove_entry(file, check);
  return std::nullopt;
}

fs::path KernelCache::store(const std::string& key, std::string_view suffix, const fs::path& built) {
  const fs::path file = folder_ / (key + std::string(suffix));
  const std::string text = check_text(built);
  fs::rename(built, file);  // the check comes last: without it the entry does not count
  write_text(folder_ / (key + ".check"), text);
  return file;
}

fs::path KernelCache::put(const std::string& key, std::string_view suffix,
                          const std::function<void(const fs::path&)>& build) {
  for (int attempt = 1;; ++attempt) {
    const fs::path built = random_name(folder_, suffix);
    std::string reason;
    build(built);  // a build that fails is the caller's to report
    try {
      const std::lock_guard lock(mutex_);
      const fs::path file = store(key, suffix, built);
      evict();
      return file;
    } catch (const Error& error) {
      reason = error.what();
    } catch (const fs::filesystem_error& error) {
      reason = error.code().message();
    }
    std::error_code ignored;
    fs::remove(built, ignored);
    if (attempt == kTries && private_) throw Error(ErrorKind::file, format("cannot keep a kernel: {}", reason));
    if (attempt == kTries) {
      const std::lock_guard lock(mutex_);
      use_private_folder(reason);
      attempt = 0;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20 * attempt));
  }
}

std::uint64_t KernelCache::size_bytes() const {
  std::uint64_t sum = 0;
  std::error_code failed;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder_, failed)) {
    if (entry.is_regular_file(failed)) sum += entry.file_size(failed);
  }
  return sum;
}

void KernelCache::evict() {
  std::uint64_t total = size_bytes();
  if (total <= limit_bytes_) return;
  struct Entry {
    fs::file_time_type used;
    std::string key;
  };
  std::vector<Entry> entries;
  std::error_code failed;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder_, failed)) {
    if (entry.path().extension() == ".check")
      entries.push_back({entry.last_write_time(failed), to_utf8(entry.path().stem())});
  }
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.used < b.used; });
  for (const Entry& entry : entries) {
    if (total <= limit_bytes_) break;
    for (const fs::directory_entry& file : fs::directory_iterator(folder_, failed)) {
      if (!to_utf8(file.path().filename()).starts_with(entry.key)) continue;
      total -= std::min(total, static_cast<std::uint64_t>(file.file_size(failed)));
      fs::remove(file.path(), failed);
    }
  }
}

}  // namespace lathe::toolchain
