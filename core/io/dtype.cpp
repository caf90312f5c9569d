#include "core/io/dtype.h"

#include <array>
#include <limits>

namespace lathe::io {

namespace {

struct Row {
  DType dtype;
  std::string_view name;
  std::size_t size;
  std::string_view numpy;
};

constexpr std::array kRows = {
    Row{DType::BOOL, "BOOL", 1, "|b1"},
    Row{DType::U8, "U8", 1, "|u1"},
    Row{DType::I8, "I8", 1, "|i1"},
    Row{DType::F8_E5M2, "F8_E5M2", 1, ""},
    Row{DType::F8_E4M3, "F8_E4M3", 1, ""},
    Row{DType::F8_E8M0, "F8_E8M0", 1, ""},
    Row{DType::F8_E4M3FNUZ, "F8_E4M3FNUZ", 1, ""},
    Row{DType::F8_E5M2FNUZ, "F8_E5M2FNUZ", 1, ""},
    Row{DType::I16, "I16", 2, "<i2"},
    Row{DType::U16, "U16", 2, "<u2"},
    Row{DType::F16, "F16", 2, "<f2"},
    Row{DType::BF16, "BF16", 2, ""},
    Row{DType::I32, "I32", 4, "<i4"},
    Row{DType::U32, "U32", 4, "<u4"},
    Row{DType::F32, "F32", 4, "<f4"},
    Row{DType::C64, "C64", 8, "<c8"},
    Row{DType::F64, "F64", 8, "<f8"},
    Row{DType::I64, "I64", 8, "<i8"},
    Row{DType::U64, "U64", 8, "<u8"},
};

constexpr bool rows_follow_the_enumeration() {
  for (std::size_t i = 0; i < kRows.size(); ++i) {
    if (kRows[i].dtype != static_cast<DType>(i)) return false;
  }
  return true;
}
static_assert(rows_follow_the_enumeration());

const Row& row(DType dtype) {
  return kRows[static_cast<std::size_t>(dtype)];
}

}  // namespace

std::string_view name(DType dtype) {
  return row(dtype).name;
}

std::size_t byte_size(DType dtype) {
  return row(dtype).size;
}

std::optional<DType> dtype_from(std::string_view name) {
  for (const Row& candidate : kRows) {
    if (candidate.name == name) return candidate.dtype;
  }
  return std::nullopt;
}

std::string_view numpy_descr(DType dtype) {
  return row(dtype).numpy;
}

std::optional<DType> dtype_from_numpy(std::string_view descr) {
  if (descr.size() != 3) return std::nullopt;
  const char order = descr[0];
  const bool one_byte = descr[2] == '1';
  if (order != '<' && order != '=' && !(order == '|' && one_byte)) return std::nullopt;
  for (const Row& candidate : kRows) {
    if (!candidate.numpy.empty() && candidate.numpy.substr(1) == descr.substr(1)) return candidate.dtype;
  }
  return std::nullopt;
}

std::optional<std::uint64_t> dense_bytes(DType dtype, std::span<const std::int64_t> shape) {
  constexpr std::uint64_t most = std::numeric_limits<std::int64_t>::max();
  std::uint64_t bytes = byte_size(dtype);
  for (const std::int64_t extent : shape) {
    if (extent < 0) return std::nullopt;
    const auto factor = static_cast<std::uint64_t>(extent);
    if (factor != 0 && bytes > most / factor) return std::nullopt;
    bytes *= factor;
  }
  return bytes;
}

}  // namespace lathe::io
