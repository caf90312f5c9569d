#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace lathe::dataset {

// Which picture a file held when something was made from it. Size and time are cheap to compare; the hash decides where
// only the time changed (a copied dataset).
struct FileFingerprint {
  std::uint64_t size_bytes = 0;
  std::int64_t modified_ns = 0;  // of the system's file clock: only equality means something
  std::string sha256;            // 64 lower-case digits
  bool operator==(const FileFingerprint&) const = default;
};

// Reads the whole file. Throws Error(file).
FileFingerprint fingerprint_of(const std::filesystem::path& path);

// Whether the file still holds what `known` says: not with another size; yes with the same size and time, unless
// `thorough`; else its hash decides. False where it cannot be read.
bool is_unchanged(const std::filesystem::path& path, const FileFingerprint& known, bool thorough = false);

}  // namespace lathe::dataset
