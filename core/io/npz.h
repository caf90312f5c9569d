#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/io/dtype.h"

namespace lathe::io {

// NumPy's .npz: a zip archive of .npy files. Sizes of one array are limited to kLargestArray bytes.
inline constexpr std::uint64_t kLargestArray = std::uint64_t{1} << 32;

struct NpzArray {
  std::string name;  // without ".npy"
  DType dtype = DType::F32;
  std::vector<std::int64_t> shape;
  std::vector<std::byte> bytes;  // row major, little endian
};

struct NpzEntry {
  std::string name;
  std::optional<DType> dtype;  // empty: read() refuses it with `problem`
  std::vector<std::int64_t> shape;
  std::string problem;  // "its elements are Python objects"; else empty
};

// An opened file. Opening reads the directory and each array's header, no data. One thread at a time.
// Error(dataset) that names the file, and the array where one is at fault.
class NpzFile {
 public:
  explicit NpzFile(const std::filesystem::path& path);
  ~NpzFile();
  NpzFile(NpzFile&&) noexcept;
  NpzFile& operator=(NpzFile&&) noexcept;

  const std::vector<NpzEntry>& entries() const;       // in the order of the archive; what is no array is left out
  const NpzEntry* find(std::string_view name) const;  // null: not there
  // Reads and verifies the archive's checksum. Error(dataset) also for a name that is not there, Fortran order of more
  // than one dimension, objects, big endian.
  NpzArray read(std::string_view name) const;

 private:
  friend void add_to_npz(const std::filesystem::path& path, std::span<const TensorToWrite> arrays);
  struct State;
  std::unique_ptr<State> state_;
};

// Both write beside the target (entries stored, .npy version 1.0, no times: same arrays, same bytes), open what was
// written, and rename. Error(internal) for a size that does not fit its shape, a name given twice or a type that NumPy
// lacks (BF16, F8), and for no arrays at all.
void write_npz(const std::filesystem::path& path, std::span<const TensorToWrite> arrays);
// Keeps what an existing file holds under other names, in its place; arrays of the same name are replaced.
void add_to_npz(const std::filesystem::path& path, std::span<const TensorToWrite> arrays);

}  // namespace lathe::io
