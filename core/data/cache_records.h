#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "core/dataset/fingerprint.h"

namespace lathe::data {

// Size and time of a file, without a hash. Nothing where it cannot be looked at.
std::optional<dataset::FileFingerprint> stamp(const std::filesystem::path& path);
bool same_size_and_time(const dataset::FileFingerprint& a, const dataset::FileFingerprint& b);

// What one entry of a cache file was made from.
struct CacheRecord {
  std::map<std::string, std::string> made_with;    // "vae" → fingerprint, "resize" → "area 80x56" …
  std::optional<dataset::FileFingerprint> source;  // the image
  // The .npz right after it was written, but with the hash of the entry's main array alone: the file grows when entries
  // of other sizes are added.
  dataset::FileFingerprint cache;
};

// The records of cache files, kept in one file a folder beside them: lathe_cache.jsonl, one JSON object a line
// ({"file", "entry", "made_with", "source", "cache"}), of which the last one about an entry counts. Lines are only ever
// appended, each by one write, so that several processes may fill one folder and a cut-off line costs one record at
// most. The reference neither reads nor changes the file. May be used by several threads at once.
class CacheRecords {
 public:
  CacheRecords();
  ~CacheRecords();

  // `entry`: which part of the file ("latents_6x10", "text"). Nothing: the cache was not made by us.
  std::optional<CacheRecord> find(const std::filesystem::path& cache_file, const std::string& entry) const;
  // Throws Error(file) where the folder cannot be written.
  void put(const std::filesystem::path& cache_file, const std::string& entry, const CacheRecord& record);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace lathe::data
