#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>

namespace lathe {

// Every function throws Error(file) with the path, the system's reason and what to do where that is known.

std::string read_text(const std::filesystem::path& path);

// Written beside the target, flushed to the disk, renamed over it; the folder is flushed too. The old file stays whole
// until the new one is complete. Missing parent folders are an error.
class AtomicFile {
 public:
  explicit AtomicFile(std::filesystem::path target);
  ~AtomicFile();  // without commit(): removes what was written
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(std::span<const std::byte> bytes);
  void write(std::string_view text);
  // Path of the unfinished file: a writer of another library may fill it, after close_handle().
  const std::filesystem::path& temporary() const { return temporary_; }
  void close_handle();
  // `check` sees the finished temporary file before it is renamed and throws if it is not good.
  void commit(const std::function<void(const std::filesystem::path&)>& check = {});

 private:
  std::filesystem::path target_;
  std::filesystem::path temporary_;
  int handle_ = -1;
  bool committed_ = false;
};

void write_text(const std::filesystem::path& path, std::string_view text);  // atomic

// Flushes a file or a folder to the disk.
void sync_to_disk(const std::filesystem::path& path);

// A file mapped read-only into memory. An empty file gives an empty span.
class MappedFile {
 public:
  explicit MappedFile(const std::filesystem::path& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::byte> bytes() const { return {data_, size_}; }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

// Free bytes for this user where `path` (or its nearest existing parent) lies.
std::uint64_t free_disk_space(const std::filesystem::path& path);

// Creates and removes a small file. Empty: writable; else the system's reason.
std::string why_not_writable(const std::filesystem::path& folder);

}  // namespace lathe
