#include "core/io/npz.h"

#include <algorithm>
#include <cstring>

#include <zip.h>

#include "core/base/error.h"
#include "core/base/files.h"
#include "core/base/format.h"
#include "core/base/paths.h"
#include "core/io/npy.h"
#include "core/io/safetensors_header.h"  // printable()

namespace lathe::io {
namespace fs = std::filesystem;

namespace {

constexpr std::string_view kExtension = ".npy";
constexpr std::uint64_t kMostArrays = 65535;

[[noreturn]] void refuse(std::string reason) {
  throw Error(ErrorKind::dataset, std::move(reason));
}

struct DiscardZip {
  void operator()(zip_t* archive) const { zip_discard(archive); }
};
using Zip = std::unique_ptr<zip_t, DiscardZip>;

struct CloseEntry {
  void operator()(zip_file_t* file) const { zip_fclose(file); }
};

struct ZipFault {
  zip_error_t error;
  ZipFault() { zip_error_init(&error); }
  ~ZipFault() { zip_error_fini(&error); }
  ZipFault(const ZipFault&) = delete;
  ZipFault& operator=(const ZipFault&) = delete;
  std::string text() { return zip_error_strerror(&error); }
};

// The archive in `bytes`, which must outlive it.
Zip open_zip(std::span<const std::byte> bytes) {
  if (bytes.empty()) refuse("it is empty (0 bytes)");  // to libzip an archive without entries
  ZipFault fault;
  zip_source_t* source = zip_source_buffer_create(bytes.data(), bytes.size(), 0, &fault.error);
  if (source == nullptr) refuse(fault.text());
  zip_t* archive = zip_open_from_source(source, ZIP_RDONLY, &fault.error);
  if (archive == nullptr) {
    zip_source_free(source);
    refuse(format("it is cut off or no zip archive ({})", fault.text()));
  }
  return Zip(archive);
}

zip_stat_t stat_of(zip_t* archive, std::uint64_t index) {
  zip_stat_t stat;
  if (zip_stat_index(archive, index, 0, &stat) != 0) refuse(zip_strerror(archive));
  constexpr std::uint64_t needed = ZIP_STAT_NAME | ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE;
  if ((stat.valid & needed) != needed) refuse("its directory is damaged");
  // Deflate shrinks by 1032 at most: memory is taken only for sizes that the file can hold.
  if (stat.size > kLargestArray + kLongestNpyHeader || stat.size / 1032 > stat.comp_size + 64) {
    refuse(format("it claims {} bytes in {}", stat.size, stat.comp_size));
  }
  return stat;
}

// The first `count` bytes of an entry. When that is all, its checksum is verified.
std::vector<std::byte> read_entry(zip_t* archive, std::uint64_t index, std::uint64_t size, std::uint64_t count) {
  const std::unique_ptr<zip_file_t, CloseEntry> file(zip_fopen_index(archive, index, 0));
  if (!file) refuse(zip_strerror(archive));
  std::vector<std::byte> bytes(static_cast<std::size_t>(count));
  std::uint64_t done = 0;
  while (done < count) {
    const zip_int64_t got = zip_fread(file.get(), bytes.data() + done, count - done);
    if (got <= 0) refuse(got < 0 ? zip_file_strerror(file.get()) : "its data end too early");
    done += static_cast<std::uint64_t>(got);
  }
  std::byte further{};
  if (count == size && zip_fread(file.get(), &further, 1) != 0) refuse(zip_file_strerror(file.get()));
  return bytes;
}

// Puts what is known at this place before the reason.
[[noreturn]] void rethrow_for_array(std::string_view array, const Error& error) {
  refuse(format("array '{}': {}", printable(array), error.message()));
}

[[noreturn]] void rethrow_for_file(const fs::path& path, const Error& error) {
  refuse(format("'{}' cannot be used: {}", path, error.message()));
}

}  // namespace

struct NpzFile::State {
  struct Place {
    std::uint64_t index = 0;  // in the archive
    NpyHeader header;
  };

  explicit State(const fs::path& path) : file(path), archive(open_zip(file.bytes())) {}

  MappedFile file;  // before the archive, which reads from it
  Zip archive;
  std::vector<NpzEntry> entries;
  std::vector<Place> places;  // one for each entry

  void read_directory();
};

void NpzFile::State::read_directory() {
  const zip_int64_t count = zip_get_num_entries(archive.get(), 0);
  if (count < 0 || static_cast<std::uint64_t>(count) > kMostArrays) refuse(format("it claims {} entries", count));
  for (std::uint64_t i = 0; i < static_cast<std::uint64_t>(count); ++i) {
    const zip_stat_t stat = stat_of(archive.get(), i);
    const std::string_view full_name = stat.name;
    if (!full_name.ends_with(kExtension)) continue;
    const std::string_view name = full_name.substr(0, full_name.size() - kExtension.size());
    try {
      const auto start = read_entry(archive.get(), i, stat.size, std::min<std::uint64_t>(stat.size, kLongestNpyHeader));
      NpyHeader header = parse_npy_header(start);
      if (header.dtype && header.data_begin + header.data_bytes != stat.size) {
        refuse(format("its shape needs {} bytes, it has {}", header.data_bytes, stat.size - header.data_begin));
      }
      entries.push_back({std::string(name), header.dtype, header.shape, header.problem});
      places.push_back({i, std::move(header)});
    } catch (const Error& error) {
      rethrow_for_array(name, error);
    }
  }
  std::vector<std::string_view> names;
  for (const NpzEntry& entry : entries) names.push_back(entry.name);
  std::ranges::sort(names);
  const auto twice = std::ranges::adjacent_find(names);
  if (twice != names.end()) refuse(format("array '{}' is in it twice", printable(*twice)));
}

NpzFile::NpzFile(const fs::path& path) {
  try {
    state_ = std::make_unique<State>(path);
    state_->read_directory();
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::file) refuse(error.message());  // names the file already
    rethrow_for_file(path, error);
  }
}

NpzFile::~NpzFile() = default;
NpzFile::NpzFile(NpzFile&&) noexcept = default;
NpzFile& NpzFile::operator=(NpzFile&&) noexcept = default;

const std::vector<NpzEntry>& NpzFile::entries() const {
  return state_->entries;
}

const NpzEntry* NpzFile::find(std::string_view name) const {
  const auto found = std::ranges::find(state_->entries, name, &NpzEntry::name);
  return found != state_->entries.end() ? &*found : nullptr;
}

NpzArray NpzFile::read(std::string_view name) const {
  const NpzEntry* entry = find(name);
  try {
    if (entry == nullptr) refuse("it is not there");
    if (!entry->dtype) refuse(entry->problem);
    const State::Place& place = state_->places[static_cast<std::size_t>(entry - state_->entries.data())];
    const std::uint64_t size = place.header.data_begin + place.header.data_bytes;
    std::vector<std::byte> bytes = read_entry(state_->archive.get(), place.index, size, size);
    bytes.erase(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(place.header.data_begin));
    return {entry->name, *entry->dtype, entry->shape, std::move(bytes)};
  } catch (const Error& error) {
    refuse(format("array '{}' of '{}' cannot be used: {}", printable(name), state_->file.path(), error.message()));
  }
}

namespace {

struct Entry {
  std::string name;              // with extension
  std::vector<std::byte> bytes;  // header and data
};

Entry entry_of(const TensorToWrite& array) {
  const std::optional<std::uint64_t> expected = dense_bytes(array.dtype, array.shape);
  if (!expected || *expected != array.bytes.size()) {
    throw Error(ErrorKind::internal, format("array '{}' of type {} and shape {} was given {} bytes", array.name,
                                            name(array.dtype), array.shape, array.bytes.size()));
  }
  const std::string header = npy_header(array.dtype, array.shape);
  Entry entry{array.name + std::string(kExtension), {}};
  entry.bytes.reserve(header.size() + array.bytes.size());
  const auto header_bytes = std::as_bytes(std::span(header));
  entry.bytes.insert(entry.bytes.end(), header_bytes.begin(), header_bytes.end());
  entry.bytes.insert(entry.bytes.end(), array.bytes.begin(), array.bytes.end());
  return entry;
}

void refuse_equal_names(const std::vector<Entry>& entries) {
  for (std::size_t i = 0; i < entries.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (entries[i].name == entries[j].name) {
        throw Error(ErrorKind::internal, format("two arrays named '{}'", entries[i].name));
      }
    }
  }
}

void add_entry(zip_t* archive, const Entry& entry) {
  zip_source_t* source = zip_source_buffer(archive, entry.bytes.data(), entry.bytes.size(), 0);
  if (source == nullptr) throw std::bad_alloc();
  const zip_int64_t index = zip_file_add(archive, entry.name.c_str(), source, ZIP_FL_ENC_UTF_8);
  if (index < 0) {
    zip_source_free(source);
    throw Error(ErrorKind::internal,
                format("array '{}' cannot be written: {}", printable(entry.name), zip_strerror(archive)));
  }
  constexpr zip_uint16_t first_day = 1 << 5 | 1;  // 1980-01-01, as NumPy writes
  const auto place = static_cast<std::uint64_t>(index);
  if (zip_set_file_compression(archive, place, ZIP_CM_STORE, 0) != 0 ||
      zip_file_set_dostime(archive, place, 0, first_day, 0) != 0) {
    throw Error(ErrorKind::internal, zip_strerror(archive));
  }
}

struct FreeSource {
  void operator()(zip_source_t* source) const { zip_source_free(source); }
};

// The archive's bytes. Made in memory: so it is written in one place, through AtomicFile.
std::vector<std::byte> archive_bytes(const std::vector<Entry>& entries) {
  ZipFault fault;
  const std::unique_ptr<zip_source_t, FreeSource> target(zip_source_buffer_create(nullptr, 0, 0, &fault.error));
  if (!target) throw std::bad_alloc();
  zip_source_keep(target.get());  // closing the archive gives one reference back
  zip_t* opened = zip_open_from_source(target.get(), ZIP_TRUNCATE, &fault.error);
  if (opened == nullptr) {
    zip_source_free(target.get());
    throw Error(ErrorKind::internal, fault.text());
  }
  Zip archive(opened);
  for (const Entry& entry : entries) add_entry(archive.get(), entry);
  if (zip_close(archive.get()) != 0) throw Error(ErrorKind::internal, zip_strerror(archive.get()));
  static_cast<void>(archive.release());  // closed

  zip_stat_t stat;
  zip_source_stat(target.get(), &stat);
  std::vector<std::byte> bytes(static_cast<std::size_t>(stat.size));
  const bool read = zip_source_open(target.get()) == 0 &&
                    zip_source_read(target.get(), bytes.data(), bytes.size()) == static_cast<zip_int64_t>(bytes.size());
  zip_source_close(target.get());
  if (!read) throw Error(ErrorKind::internal, "libzip did not give back what it wrote");
  return bytes;
}

void write_entries(const fs::path& path, const std::vector<Entry>& entries) {
  if (entries.empty()) throw Error(ErrorKind::internal, format("no arrays were given for '{}'", path));
  refuse_equal_names(entries);
  AtomicFile file(path);
  file.write(archive_bytes(entries));
  file.commit([&](const fs::path& temporary) {
    const NpzFile written(temporary);
    for (const NpzEntry& entry : written.entries()) {
      if (entry.dtype) written.read(entry.name);  // verifies the checksum
    }
  });
}

}  // namespace

void write_npz(const fs::path& path, std::span<const TensorToWrite> arrays) {
  std::vector<Entry> entries;
  for (const TensorToWrite& array : arrays) entries.push_back(entry_of(array));
  write_entries(path, entries);
}

void add_to_npz(const fs::path& path, std::span<const TensorToWrite> arrays) {
  if (!fs::exists(path)) return write_npz(path, arrays);
  std::vector<Entry> entries;
  {
    const NpzFile existing(path);  // closed again before the file is replaced
    zip_t* archive = existing.state_->archive.get();
    const auto count = static_cast<std::uint64_t>(zip_get_num_entries(archive, 0));
    for (std::uint64_t i = 0; i < count; ++i) {
      const zip_stat_t stat = stat_of(archive, i);
      // Also what we cannot interpret: it is somebody's, and moves over as it is.
      try {
        entries.push_back({stat.name, read_entry(archive, i, stat.size, stat.size)});
      } catch (const Error& error) {
        refuse(format("entry '{}' of '{}' cannot be kept: {}", printable(stat.name), path, error.message()));
      }
    }
  }
  std::vector<Entry> added;
  for (const TensorToWrite& array : arrays) added.push_back(entry_of(array));
  refuse_equal_names(added);
  for (Entry& entry : added) {
    const auto same = std::ranges::find(entries, entry.name, &Entry::name);
    if (same == entries.end()) {
      entries.push_back(std::move(entry));
    } else {
      same->bytes = std::move(entry.bytes);
    }
  }
  write_entries(path, entries);
}

}  // namespace lathe::io
