#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/io/dtype.h"

namespace lathe::io {

// The header in front of an array's bytes in NumPy's .npy format.
struct NpyHeader {
  std::optional<DType> dtype;  // empty: `problem` says why
  std::vector<std::int64_t> shape;
  std::uint64_t data_begin = 0;  // bytes before the array's first
  std::uint64_t data_bytes = 0;
  // Why the array cannot be read although the header is sound: objects, text, big endian, Fortran order. Else empty.
  std::string problem;
};

// Bytes that hold the header of any array we can read.
inline constexpr std::size_t kLongestNpyHeader = 65536 + 12;

// `start`: the first bytes of an entry, kLongestNpyHeader of them or all. Versions 1.0 to 3.0. Error(format) with the
// bare reason for what is no .npy header.
NpyHeader parse_npy_header(std::span<const std::byte> start);

// Version 1.0, byte for byte as NumPy 1.24 and later write it (with room for the first dimension to grow).
// Error(internal) for a type that NumPy does not have.
std::string npy_header(DType dtype, std::span<const std::int64_t> shape);

}  // namespace lathe::io
