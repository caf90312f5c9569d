#include "tests/core/compile/passes/strided_array.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <stdexcept>

namespace lathe::testing {

using ir::DType;

namespace {

template <class T>
double load(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return static_cast<double>(value);
}

template <class T>
void store(std::byte* to, double number) {
  const T value = static_cast<T>(number);
  std::memcpy(to, &value, sizeof value);
}

// Rounds to nearest even on the 16 upper bits of an f32.
std::uint16_t to_bf16(double number) {
  const float single = static_cast<float>(number);
  if (std::isnan(single)) return 0x7fc0;
  const auto bits = std::bit_cast<std::uint32_t>(single);
  return static_cast<std::uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

double from_bf16(std::uint16_t bits) {
  return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16));
}

}  // namespace

StridedArray StridedArray::make(DType dtype, Index sizes, Index strides) {
  std::int64_t extent = 1;
  for (std::size_t dim = 0; dim < sizes.size(); ++dim) extent += (sizes[dim] - 1) * strides[dim];
  StridedArray array{dtype, std::move(sizes), std::move(strides), 0, nullptr};
  array.memory = std::make_shared<std::vector<std::byte>>(static_cast<std::size_t>(extent * ir::byte_size(dtype)),
                                                          std::byte{0xff});
  return array;
}

StridedArray StridedArray::dense(DType dtype, Index sizes) {
  Index strides(sizes.size());
  std::int64_t stride = 1;
  for (std::size_t dim = sizes.size(); dim-- > 0;) {
    strides[dim] = stride;
    stride *= sizes[dim];
  }
  return make(dtype, std::move(sizes), std::move(strides));
}

std::int64_t StridedArray::count() const {
  std::int64_t count = 1;
  for (const std::int64_t size : sizes) count *= size;
  return count;
}

void* StridedArray::first() const {
  return memory->data() + offset * ir::byte_size(dtype);
}

std::int64_t StridedArray::place(const Index& index) const {
  std::int64_t place = offset;
  for (std::size_t dim = 0; dim < index.size(); ++dim) place += index[dim] * strides[dim];
  return place;
}

double StridedArray::at(std::int64_t place) const {
  const std::byte* from = memory->data() + place * ir::byte_size(dtype);
  switch (dtype) {
    case DType::f64:
      return load<double>(from);
    case DType::f32:
      return load<float>(from);
    case DType::f16:
      throw std::logic_error("no f16 in these tests");
    case DType::bf16: {
      std::uint16_t bits;
      std::memcpy(&bits, from, sizeof bits);
      return from_bf16(bits);
    }
    case DType::i64:
      return load<std::int64_t>(from);
    case DType::i32:
      return load<std::int32_t>(from);
    case DType::i16:
      return load<std::int16_t>(from);
    case DType::i8:
      return load<std::int8_t>(from);
    case DType::u8:
    case DType::boolean:
      return load<std::uint8_t>(from);
  }
  return 0;
}

void StridedArray::put(std::int64_t place, double number) {
  std::byte* to = memory->data() + place * ir::byte_size(dtype);
  switch (dtype) {
    case DType::f64:
      return store<double>(to, number);
    case DType::f32:
      return store<float>(to, number);
    case DType::f16:
      throw std::logic_error("no f16 in these tests");
    case DType::bf16: {
      const std::uint16_t bits = to_bf16(number);
      std::memcpy(to, &bits, sizeof bits);
      return;
    }
    case DType::i64:
      return store<std::int64_t>(to, number);
    case DType::i32:
      return store<std::int32_t>(to, number);
    case DType::i16:
      return store<std::int16_t>(to, number);
    case DType::i8:
      return store<std::int8_t>(to, number);
    case DType::u8:
      return store<std::uint8_t>(to, number);
    case DType::boolean:
      return store<std::uint8_t>(to, number != 0 ? 1.0 : 0.0);
  }
}

void for_each_index(const Index& sizes, const std::function<void(const Index&)>& visit) {
  for (const std::int64_t size : sizes) {
    if (size == 0) return;
  }
  Index index(sizes.size(), 0);
  for (;;) {
    visit(index);
    std::size_t dim = sizes.size();
    while (dim > 0 && ++index[dim - 1] == sizes[dim - 1]) index[--dim] = 0;
    if (dim == 0) return;
  }
}

Index broadcast_index(const Index& index, const Index& sizes) {
  Index result(sizes.size());
  const std::size_t ahead = index.size() - sizes.size();
  for (std::size_t dim = 0; dim < sizes.size(); ++dim) result[dim] = sizes[dim] == 1 ? 0 : index[dim + ahead];
  return result;
}

double rounded(double number, DType dtype) {
  if (dtype == DType::bf16) return from_bf16(to_bf16(number));
  if (dtype == DType::f32) return static_cast<double>(static_cast<float>(number));
  return number;
}

}  // namespace lathe::testing
