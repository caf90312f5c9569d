#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/io/dtype.h"

namespace lathe {
class MappedFile;
}

namespace lathe::io {

// A safetensors file: 8 bytes little-endian header length, a JSON header, the tensors' bytes without gaps.

// The header's `__metadata__`: text to text, in ascending byte order of the keys (files are written in that order).
using Metadata = std::map<std::string, std::string, std::less<>>;

struct TensorInfo {
  std::string name;
  DType dtype = DType::F32;
  std::vector<std::int64_t> shape;  // no dimension: one element
  std::uint64_t begin = 0;          // bytes [begin, end) of the data section
  std::uint64_t end = 0;
};

// An opened file, mapped into memory. Copies share the mapping, and mapping() keeps it alive for a tensor that borrows
// the bytes. A file that breaks a rule of the format is refused with Error(format), one line; the rules are the
// library's own: header of at most 100 MB of UTF-8 JSON without unknown types, every size equal to its shape, no tensor
// twice, no gap, no overlap, nothing after the last tensor.
class SafetensorsFile {
 public:
  explicit SafetensorsFile(const std::filesystem::path& path);

  const std::filesystem::path& path() const;
  const std::vector<TensorInfo>& tensors() const;  // in the order of their bytes
  const Metadata& metadata() const;
  const TensorInfo* find(std::string_view name) const;             // null: no such tensor
  const TensorInfo& at(std::string_view name) const;               // Error(checkpoint) that names it
  std::span<const std::byte> bytes(const TensorInfo& info) const;  // `info` must be one of this file's tensors()
  std::span<const std::byte> data_section() const;
  std::shared_ptr<const MappedFile> mapping() const;

 private:
  struct State;
  std::shared_ptr<const State> state_;
};

// One file, or all of `name-00001-of-0000N.safetensors` when `path` is any one of them, in the order of their numbers.
// Error(file) names a part that is missing, Error(format) a tensor that is in two of them.
std::vector<SafetensorsFile> open_sharded(const std::filesystem::path& path);

// Writes beside the target, opens and compares what was written, renames. Tensors lie in the library's order (rank of
// the type descending, then name ascending by bytes), the header is padded with spaces to a multiple of 8. Without
// metadata there is no `__metadata__`. Error(internal) for a size that does not fit its shape, a name given twice or
// text that is not UTF-8; Error(file) or Error(resource) when the file cannot be written.
void write_safetensors(const std::filesystem::path& path, std::span<const TensorToWrite> tensors,
                       const Metadata& metadata);

// `sshs_model_hash` of adapter files: SHA-256, 64 hex digits, over the data section that write_safetensors() makes.
std::string safetensors_data_hash(std::span<const TensorToWrite> tensors);

// `sshs_legacy_hash`: the first 8 hex digits of the SHA-256 of 64 KiB at offset 1 MiB of the file these tensors make
// when its metadata holds only the keys that start with "ss_". "e3b0c442" for any file under 1 MiB.
std::string safetensors_legacy_hash(std::span<const TensorToWrite> tensors, const Metadata& metadata);

}  // namespace lathe::io
