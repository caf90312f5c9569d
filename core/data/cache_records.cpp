#include "core/data/cache_records.h"

#include <chrono>
#include <fstream>
#include <mutex>
#include <sstream>
#include <utility>

#include <nlohmann/json.hpp>

#include "core/base/error.h"
#include "core/base/files.h"
#include "core/base/format.h"
#include "core/base/log.h"
#include "core/base/paths.h"

namespace lathe::data {
namespace records_file {  // named: State holds a type of it

namespace fs = std::filesystem;
using dataset::FileFingerprint;
using nlohmann::json;

constexpr const char* kFileName = "lathe_cache.jsonl";

using EntryName = std::pair<std::string, std::string>;  // file name, entry

struct Folder {
  std::map<EntryName, CacheRecord> records;
  bool cut_off = false;  // the file's last line has no end: the process that wrote it was killed
};

json to_json(const FileFingerprint& stamp) {
  return {{"size", stamp.size_bytes}, {"time", stamp.modified_ns}, {"sha256", stamp.sha256}};
}

FileFingerprint stamp_from(const json& value) {
  return {value.at("size").get<std::uint64_t>(), value.at("time").get<std::int64_t>(),
          value.at("sha256").get<std::string>()};
}

std::string line_of(const EntryName& name, const CacheRecord& record) {
  json line = {
      {"file", name.first}, {"entry", name.second}, {"made_with", record.made_with}, {"cache", to_json(record.cache)}};
  if (record.source) line["source"] = to_json(*record.source);
  return line.dump() + "\n";
}

void read_line(const std::string& text, Folder& folder) {
  const json line = json::parse(text);
  CacheRecord record;
  line.at("made_with").get_to(record.made_with);
  record.cache = stamp_from(line.at("cache"));
  if (line.contains("source")) record.source = stamp_from(line.at("source"));
  folder.records[{line.at("file").get<std::string>(), line.at("entry").get<std::string>()}] = std::move(record);
}

// Old lines pile up as caches are made again; the file is written anew when most of it is out of date.
void compact(const fs::path& path, Folder& folder, std::size_t lines) {
  if (lines < 1000 || lines < 4 * folder.records.size()) return;
  std::string text;
  for (const auto& [name, record] : folder.records) text += line_of(name, record);
  write_text(path, text);
  folder.cut_off = false;
}

Folder read_folder(const fs::path& parent) {
  const fs::path path = parent / kFileName;
  Folder folder;
  if (!fs::exists(path)) return folder;
  const std::string text = read_text(path);
  folder.cut_off = !text.empty() && text.back() != '\n';
  std::istringstream stream(text);
  std::size_t lines = 0, damaged = 0;
  for (std::string line; std::getline(stream, line); ++lines) {
    try {
      read_line(line, folder);
    } catch (const json::exception&) {
      ++damaged;
    }
  }
  if (damaged > 0) log::warning("{}: {} of {} lines cannot be read and are ignored", path, damaged, lines);
  compact(path, folder, lines);
  return folder;
}

}  // namespace records_file

namespace fs = std::filesystem;
using dataset::FileFingerprint;
using records_file::EntryName;
using records_file::Folder;
using records_file::kFileName;

std::optional<FileFingerprint> stamp(const fs::path& path) {
  std::error_code error;
  FileFingerprint result;
  result.size_bytes = fs::file_size(path, error);
  if (error) return std::nullopt;
  const auto time = fs::last_write_time(path, error);
  result.modified_ns = std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch()).count();
  if (error) return std::nullopt;
  return result;
}

bool same_size_and_time(const FileFingerprint& a, const FileFingerprint& b) {
  return a.size_bytes == b.size_bytes && a.modified_ns == b.modified_ns;
}

struct CacheRecords::State {
  std::mutex mutex;
  std::map<fs::path, Folder> folders;  // guarded by mutex; filled when a folder is first asked for

  Folder& folder(const fs::path& path) {
    const auto found = folders.find(path);
    return found != folders.end() ? found->second
                                  : folders.emplace(path, records_file::read_folder(path)).first->second;
  }
};

CacheRecords::CacheRecords() : state_(std::make_unique<State>()) {}
CacheRecords::~CacheRecords() = default;

std::optional<CacheRecord> CacheRecords::find(const fs::path& cache_file, const std::string& entry) const {
  const std::lock_guard lock(state_->mutex);
  const auto& records = state_->folder(cache_file.parent_path()).records;
  const auto found = records.find({to_utf8(cache_file.filename()), entry});
  return found == records.end() ? std::nullopt : std::optional(found->second);
}

void CacheRecords::put(const fs::path& cache_file, const std::string& entry, const CacheRecord& record) {
  const EntryName name = {to_utf8(cache_file.filename()), entry};
  const std::lock_guard lock(state_->mutex);
  Folder& folder = state_->folder(cache_file.parent_path());
  const fs::path path = cache_file.parent_path() / kFileName;
  std::ofstream file(path, std::ios::app | std::ios::binary);
  const std::string line = (folder.cut_off ? "\n" : "") + records_file::line_of(name, record);
  file.write(line.data(), static_cast<std::streamsize>(line.size()));
  file.flush();
  if (!file) throw Error(ErrorKind::file, format("cannot write {}: is the folder writable, the disk full?", path));
  folder.cut_off = false;
  folder.records[name] = record;
}

}  // namespace lathe::data
