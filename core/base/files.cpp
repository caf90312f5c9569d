#include "core/base/files.h"

#include <atomic>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>
#include <system_error>

#ifdef _WIN32
#include <fcntl.h>
#include <io.h>
#include <process.h>
#include <sys/stat.h>
#include <windows.h>
#else
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#endif

#include "core/base/error.h"
#include "core/base/format.h"
#include "core/base/paths.h"

namespace lathe {
namespace fs = std::filesystem;

namespace {

std::string reason(int code) {
  return std::generic_category().message(code);
}

[[noreturn]] void fail(std::string_view what, const fs::path& path, int code) {
  std::string hint;
  if (code == ENOSPC) hint = "; free some space or choose another folder";
  if (code == EACCES || code == EROFS) hint = "; choose a folder that you may write to";
  throw Error(code == ENOSPC ? ErrorKind::resource : ErrorKind::file,
              format("cannot {} '{}': {}{}", what, path, reason(code), hint));
}

#ifdef _WIN32
int open_new(const fs::path& path) {
  return _wopen(path.c_str(), _O_CREAT | _O_EXCL | _O_WRONLY | _O_BINARY, _S_IREAD | _S_IWRITE);
}
int write_some(int handle, const void* data, std::size_t size) {
  return _write(handle, data, static_cast<unsigned>(std::min<std::size_t>(size, 1u << 30)));
}
int close_file(int handle) {
  return _close(handle);
}
int flush_file(int handle) {
  return _commit(handle);
}
int process_id() {
  return _getpid();
}
#else
int open_new(const fs::path& path) {
  return ::open(path.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0666);
}
ssize_t write_some(int handle, const void* data, std::size_t size) {
  return ::write(handle, data, size);
}
int close_file(int handle) {
  return ::close(handle);
}
int flush_file(int handle) {
  return ::fsync(handle);
}
int process_id() {
  return ::getpid();
}
#endif

fs::path temporary_beside(const fs::path& target) {
  static std::atomic<int> counter = 0;
  fs::path name = target.filename();
  name += format(".part-{}-{}", process_id(), counter++);
  return target.parent_path() / name;
}

}  // namespace

std::string read_text(const fs::path& path) {
  std::error_code failed;
  if (fs::is_directory(path, failed)) fail("read", path, EISDIR);
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file) fail("read", path, errno != 0 ? errno : ENOENT);
  std::ostringstream text;
  text << file.rdbuf();
  if (file.bad()) fail("read", path, errno != 0 ? errno : EIO);
  return std::move(text).str();
}

AtomicFile::AtomicFile(fs::path target) : target_(std::move(target)), temporary_(temporary_beside(target_)) {
  handle_ = open_new(temporary_);
  if (handle_ < 0) fail("create", target_, errno);
}

AtomicFile::~AtomicFile() {
  if (handle_ >= 0) close_file(handle_);
  std::error_code ignored;
  if (!committed_) fs::remove(temporary_, ignored);
}

void AtomicFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const auto count = write_some(handle_, bytes.data(), bytes.size());
    if (count < 0) {
      if (errno == EINTR) continue;
      fail("write", target_, errno);
    }
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
}

void AtomicFile::write(std::string_view text) {
  write(std::as_bytes(std::span(text.data(), text.size())));
}

void AtomicFile::close_handle() {
  if (handle_ < 0) return;
  const int code = flush_file(handle_) != 0 ? errno : 0;
  close_file(handle_);
  handle_ = -1;
  if (code != 0) fail("write", target_, code);
}

void AtomicFile::commit(const std::function<void(const fs::path&)>& check) {
  if (handle_ >= 0) {
    close_handle();
  } else {
    sync_to_disk(temporary_);
  }
  if (check) check(temporary_);
  std::error_code failed;
  fs::rename(temporary_, target_, failed);
  if (failed) fail("rename into place", target_, failed.value());
  committed_ = true;
  sync_to_disk(target_.has_parent_path() ? target_.parent_path() : fs::path("."));
}

void write_text(const fs::path& path, std::string_view text) {
  AtomicFile file(path);
  file.write(text);
  file.commit();
}

void sync_to_disk(const fs::path& path) {
#ifdef _WIN32
  if (fs::is_directory(path)) return;  // folders cannot be flushed there
  const int handle = _wopen(path.c_str(), _O_RDWR | _O_BINARY);
#else
  const int handle = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
#endif
  if (handle < 0) fail("open", path, errno);
  const int code = flush_file(handle) != 0 ? errno : 0;
  close_file(handle);
  if (code != 0 && code != EINVAL) fail("flush", path, code);  // EINVAL: the file system cannot flush folders
}

#ifdef _WIN32
MappedFile::MappedFile(const fs::path& path) : path_(path) {
  const HANDLE file = CreateFileW(path.c_str(), GENERIC_READ, FILE_SHARE_READ | FILE_SHARE_DELETE, nullptr,
                                  OPEN_EXISTING, FILE_ATTRIBUTE_NORMAL, nullptr);
  if (file == INVALID_HANDLE_VALUE) fail("open", path, ENOENT);
  LARGE_INTEGER size;
  GetFileSizeEx(file, &size);
  size_ = static_cast<std::size_t>(size.QuadPart);
  if (size_ > 0) {
    const HANDLE mapping = CreateFileMappingW(file, nullptr, PAGE_READONLY, 0, 0, nullptr);
    if (mapping != nullptr) {
      data_ = static_cast<const std::byte*>(MapViewOfFile(mapping, FILE_MAP_READ, 0, 0, 0));
      CloseHandle(mapping);
    }
  }
  CloseHandle(file);
  if (size_ > 0 && data_ == nullptr) fail("map", path, ENOMEM);
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) UnmapViewOfFile(data_);
}
#else
MappedFile::MappedFile(const fs::path& path) : path_(path) {
  const int handle = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (handle < 0) fail("open", path, errno);
  struct stat status {};
  if (::fstat(handle, &status) != 0 || S_ISDIR(status.st_mode)) {
    const int code = S_ISDIR(status.st_mode) ? EISDIR : errno;
    ::close(handle);
    fail("open", path, code);
  }
  size_ = static_cast<std::size_t>(status.st_size);
  void* mapped = size_ > 0 ? ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, handle, 0) : nullptr;
  const int code = errno;
  ::close(handle);
  if (mapped == MAP_FAILED) fail("map", path, code);
  data_ = static_cast<const std::byte*>(mapped);
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), size_);
}
#endif

std::uint64_t free_disk_space(const fs::path& path) {
  std::error_code failed;
  fs::path place = fs::absolute(path, failed);
  while (!fs::exists(place, failed) && place.has_parent_path() && place != place.parent_path()) {
    place = place.parent_path();
  }
  const fs::space_info space = fs::space(place, failed);
  if (failed) fail("ask for the free space of", place, failed.value());
  return space.available;
}

std::string why_not_writable(const fs::path& folder) {
  const fs::path probe = temporary_beside(folder / "lathe-probe");
  const int handle = open_new(probe);
  if (handle < 0) return reason(errno);
  close_file(handle);
  std::error_code ignored;
  fs::remove(probe, ignored);
  return {};
}

}  // namespace lathe
