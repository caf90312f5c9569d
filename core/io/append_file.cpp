#include "core/io/append_file.h"

#include <cerrno>
#include <system_error>

#include "core/base/error.h"
#include "core/base/format.h"

namespace lathe::io {
namespace fs = std::filesystem;

namespace {

std::string system_reason() {
  return std::generic_category().message(errno != 0 ? errno : EIO);
}

}  // namespace

AppendFile::AppendFile(fs::path path) : path_(std::move(path)) {
  open();
  if (!stream_.is_open()) throw Error(ErrorKind::file, format("cannot write to '{}': {}", path_, system_reason()));
  std::error_code failed;
  const std::uintmax_t existing = fs::is_regular_file(path_, failed) ? fs::file_size(path_, failed) : 0;
  if (failed) throw Error(ErrorKind::file, format("cannot write to '{}': {}", path_, failed.message()));
  size_ = existing;
}

void AppendFile::open() {
  errno = 0;
  stream_.clear();
  stream_.open(path_, std::ios::binary | std::ios::app);
}

bool AppendFile::append(std::string_view record) {
  if (torn_ && !restore()) {
    ++dropped_;
    return false;
  }
  errno = 0;
  stream_.write(record.data(), static_cast<std::streamsize>(record.size()));
  stream_.flush();
  if (stream_.good()) {
    size_ += record.size();
    return true;
  }
  last_problem_ = system_reason();
  ++dropped_;
  torn_ = true;
  restore();
  return false;
}

// The stream keeps what it could not write and would try again with the next record: it is closed first.
bool AppendFile::restore() {
  stream_.close();
  std::error_code failed;
  fs::resize_file(path_, size_, failed);
  open();
  torn_ = failed || !stream_.is_open();
  if (torn_) last_problem_ = failed ? failed.message() : system_reason();
  return !torn_;
}

void AppendFile::cut_to(std::uint64_t size) {
  size_ = size;
  if (!restore()) throw Error(ErrorKind::file, format("cannot shorten '{}': {}", path_, last_problem_));
}

}  // namespace lathe::io
