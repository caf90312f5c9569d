#include "core/io/safetensors.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>
#include <numeric>
#include <optional>
#include <utility>

#include "core/base/error.h"
#include "core/base/files.h"
#include "core/base/format.h"
#include "core/base/paths.h"
#include "core/io/safetensors_header.h"

namespace lathe::io {
namespace fs = std::filesystem;

static_assert(std::endian::native == std::endian::little, "tensor files are little endian and read as they are");

struct SafetensorsFile::State {
  std::shared_ptr<const MappedFile> file;
  SafetensorsHeader header;
  std::vector<std::uint32_t> by_name;  // indices into header.tensors, sorted by name
  std::span<const std::byte> data;
};

namespace {

constexpr std::uint64_t kLengthBytes = 8;

// The header's length, checked against the file's.
std::uint64_t header_length(std::span<const std::byte> file) {
  if (file.size() < kLengthBytes) {
    throw Error(ErrorKind::format, format("it has {} bytes, too few for a header", file.size()));
  }
  std::uint64_t length = 0;
  std::memcpy(&length, file.data(), sizeof length);
  if (length > kLargestHeader) {
    throw Error(ErrorKind::format,
                format("its header claims {} bytes, more than the {} that are allowed", length, kLargestHeader));
  }
  if (length > file.size() - kLengthBytes) {
    throw Error(ErrorKind::format, format("its header claims {} bytes, the file has {} after the length", length,
                                          file.size() - kLengthBytes));
  }
  return length;
}

// A download that stopped and a file with something behind its end are the two faults that people meet.
void check_size(const SafetensorsHeader& header, std::uint64_t header_bytes, std::uint64_t real) {
  const std::uint64_t data = header.tensors.empty() ? 0 : header.tensors.back().end;
  const std::uint64_t available = real - kLengthBytes - header_bytes;
  if (data > available) {
    throw Error(ErrorKind::format,
                format("it is cut off: its tensors end at byte {} after the header, the file has {} (size {}); copy or "
                       "download it again",
                       data, available, real));
  }
  if (data < available) {
    throw Error(ErrorKind::format, format("{} bytes follow the last tensor: expected size {}, real size {}",
                                          available - data, kLengthBytes + header_bytes + data, real));
  }
}

}  // namespace

SafetensorsFile::SafetensorsFile(const fs::path& path) {
  auto state = std::make_shared<State>();
  state->file = std::make_shared<MappedFile>(path);
  const std::span<const std::byte> bytes = state->file->bytes();
  try {
    const std::uint64_t length = header_length(bytes);
    const auto* text = reinterpret_cast<const char*>(bytes.data()) + kLengthBytes;
    state->header = parse_safetensors_header({text, static_cast<std::size_t>(length)});
    check_size(state->header, length, bytes.size());
    state->data = bytes.subspan(static_cast<std::size_t>(kLengthBytes + length));
  } catch (const Error& error) {
    throw Error(error.kind(), format("'{}' is not a usable safetensors file: {}", path, error.message()));
  }
  state->by_name.resize(state->header.tensors.size());
  std::iota(state->by_name.begin(), state->by_name.end(), 0u);
  std::ranges::sort(state->by_name, {},
                    [&](std::uint32_t i) -> const std::string& { return state->header.tensors[i].name; });
  state_ = std::move(state);
}

const fs::path& SafetensorsFile::path() const {
  return state_->file->path();
}

const std::vector<TensorInfo>& SafetensorsFile::tensors() const {
  return state_->header.tensors;
}

const Metadata& SafetensorsFile::metadata() const {
  return state_->header.metadata;
}

const TensorInfo* SafetensorsFile::find(std::string_view name) const {
  const auto name_of = [this](std::uint32_t i) -> std::string_view { return tensors()[i].name; };
  const auto found = std::ranges::lower_bound(state_->by_name, name, {}, name_of);
  if (found == state_->by_name.end() || name_of(*found) != name) return nullptr;
  return &tensors()[*found];
}

const TensorInfo& SafetensorsFile::at(std::string_view name) const {
  if (const TensorInfo* info = find(name)) return *info;
  throw Error(ErrorKind::checkpoint, format("'{}' has no tensor '{}'", path(), printable(name)));
}

std::span<const std::byte> SafetensorsFile::bytes(const TensorInfo& info) const {
  return state_->data.subspan(static_cast<std::size_t>(info.begin), static_cast<std::size_t>(info.end - info.begin));
}

std::span<const std::byte> SafetensorsFile::data_section() const {
  return state_->data;
}

std::shared_ptr<const MappedFile> SafetensorsFile::mapping() const {
  return state_->file;
}

namespace {

struct ShardName {
  std::string prefix;  // before the number
  std::uint32_t count = 0;
};

// "model-00002-of-00004.safetensors" → {"model-", 4}.
std::optional<ShardName> shard_name(std::string_view file_name) {
  constexpr std::string_view extension = ".safetensors";
  constexpr std::string_view digits = "0123456789";
  if (!file_name.ends_with(extension)) return std::nullopt;
  file_name.remove_suffix(extension.size());
  const std::size_t of = file_name.rfind("-of-");
  if (of == std::string_view::npos) return std::nullopt;
  const std::string_view count_text = file_name.substr(of + 4);
  const std::string_view before = file_name.substr(0, of);
  const std::size_t last = before.find_last_not_of(digits);
  const std::size_t number = last == std::string_view::npos ? 0 : last + 1;
  if (number == before.size() || count_text.empty()) return std::nullopt;
  std::uint32_t count = 0;
  const auto [end, failed] = std::from_chars(count_text.data(), count_text.data() + count_text.size(), count);
  if (failed != std::errc() || end != count_text.data() + count_text.size()) return std::nullopt;
  return ShardName{std::string(before.substr(0, number)), count};
}

}  // namespace

std::vector<SafetensorsFile> open_sharded(const fs::path& path) {
  const std::optional<ShardName> shard = shard_name(to_utf8(path.filename()));
  if (!shard) return {SafetensorsFile(path)};

  std::vector<SafetensorsFile> files;
  for (std::uint32_t i = 1; i <= shard->count; ++i) {
    const fs::path part =
        path.parent_path() / from_utf8(format("{}{:05d}-of-{:05d}.safetensors", shard->prefix, i, shard->count));
    if (!fs::exists(part)) {
      throw Error(ErrorKind::file,
                  format("part {} of {} is missing: '{}'; all parts must lie in one folder", i, shard->count, part));
    }
    files.emplace_back(part);
    for (const TensorInfo& tensor : files.back().tensors()) {
      for (std::size_t other = 0; other + 1 < files.size(); ++other) {
        if (files[other].find(tensor.name) == nullptr) continue;
        throw Error(ErrorKind::format, format("duplicate tensor name '{}' in '{}' and '{}'", printable(tensor.name),
                                              files[other].path(), part));
      }
    }
  }
  if (files.empty()) throw Error(ErrorKind::format, format("'{}' says it is one of 0 parts", path));
  return files;
}

}  // namespace lathe::io
