#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lathe::io {

// Element types of tensor files, named as in safetensors headers. Their order is the rank by which that library sorts
// the tensors it writes (highest first): checked against its releases 0.4.5 and 0.8.0.
enum class DType : std::uint8_t {
  BOOL,
  U8,
  I8,
  F8_E5M2,
  F8_E4M3,
  F8_E8M0,
  F8_E4M3FNUZ,
  F8_E5M2FNUZ,
  I16,
  U16,
  F16,
  BF16,
  I32,
  U32,
  F32,
  C64,
  F64,
  I64,
  U64,
};

std::string_view name(DType dtype);                      // "F32"
std::size_t byte_size(DType dtype);                      // of one element
std::optional<DType> dtype_from(std::string_view name);  // empty: not one of ours

// NumPy's type text ("<f4", "|b1"); little endian. Empty where NumPy has no such type (BF16, the F8 family).
std::string_view numpy_descr(DType dtype);
// Accepts '<', '|' and '=' as little endian. Empty: big endian, objects, text, anything else.
std::optional<DType> dtype_from_numpy(std::string_view descr);

// Bytes of a dense tensor; empty when a dimension is negative or the product exceeds 2^63 - 1.
std::optional<std::uint64_t> dense_bytes(DType dtype, std::span<const std::int64_t> shape);

// What the writers of safetensors and .npz files take. The bytes are borrowed.
struct TensorToWrite {
  std::string name;
  DType dtype = DType::F32;
  std::vector<std::int64_t> shape;
  std::span<const std::byte> bytes;  // dense, row major, little endian
};

}  // namespace lathe::io
