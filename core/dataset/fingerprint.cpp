#include "core/dataset/fingerprint.h"

#include <chrono>
#include <system_error>

#include "core/base/error.h"
#include "core/base/format.h"
#include "core/base/hash.h"

namespace lathe::dataset {

namespace fs = std::filesystem;

namespace {

// Everything but the hash.
FileFingerprint outside(const fs::path& path, std::error_code& error) {
  FileFingerprint fingerprint;
  fingerprint.size_bytes = fs::file_size(path, error);
  if (error) return fingerprint;
  const auto since_epoch = fs::last_write_time(path, error).time_since_epoch();
  fingerprint.modified_ns = std::chrono::duration_cast<std::chrono::nanoseconds>(since_epoch).count();
  return fingerprint;
}

}  // namespace

FileFingerprint fingerprint_of(const fs::path& path) {
  std::error_code error;
  FileFingerprint fingerprint = outside(path, error);
  if (error) throw Error(ErrorKind::file, format("cannot read {}: {}", path, error.message()));
  fingerprint.sha256 = sha256_hex_of_file(path);
  return fingerprint;
}

bool is_unchanged(const fs::path& path, const FileFingerprint& known, bool thorough) {
  std::error_code error;
  const FileFingerprint now = outside(path, error);
  if (error || now.size_bytes != known.size_bytes) return false;
  if (!thorough && now.modified_ns == known.modified_ns) return true;
  try {
    return sha256_hex_of_file(path) == known.sha256;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace lathe::dataset
