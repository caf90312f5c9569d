#include "core/data/npz_tensor.h"

#include <cstring>
#include <span>
#include <utility>

#include <ATen/ops/empty.h>

#include "core/base/error.h"
#include "core/base/format.h"
#include "core/base/hash.h"

namespace lathe::data {
namespace {

// The types that cache files hold.
constexpr std::pair<io::DType, at::ScalarType> kTypes[] = {{io::DType::F32, at::kFloat},
                                                           {io::DType::F16, at::kHalf},
                                                           {io::DType::F64, at::kDouble},
                                                           {io::DType::I64, at::kLong},
                                                           {io::DType::I32, at::kInt}};

at::ScalarType scalar_type(const io::NpzArray& array) {
  for (const auto& [in_file, in_memory] : kTypes) {
    if (in_file == array.dtype) return in_memory;
  }
  throw Error(ErrorKind::dataset, format("the array '{}' has type {}", array.name, io::name(array.dtype)));
}

io::DType file_type(at::ScalarType type) {
  for (const auto& [in_file, in_memory] : kTypes) {
    if (in_memory == type) return in_file;
  }
  throw Error(ErrorKind::internal, format("a cache file holds no {}", c10::toString(type)));
}

std::span<const std::byte> bytes_of(const at::Tensor& dense) {
  return {static_cast<const std::byte*>(dense.const_data_ptr()), dense.nbytes()};
}

}  // namespace

at::Tensor read_tensor(const io::NpzFile& file, std::string_view name) {
  const io::NpzArray array = file.read(name);
  at::Tensor tensor = at::empty(array.shape, at::TensorOptions().dtype(scalar_type(array)));
  std::memcpy(tensor.mutable_data_ptr(), array.bytes.data(), array.bytes.size());
  return tensor;
}

void NpzTensors::add(std::string name, const at::Tensor& tensor) {
  kept_.push_back(tensor.detach().to(at::kCPU).contiguous());
  arrays_.push_back({std::move(name), file_type(tensor.scalar_type()), tensor.sizes().vec(), bytes_of(kept_.back())});
}

std::string tensor_sha256(const at::Tensor& tensor) {
  return sha256_hex(bytes_of(tensor.detach().to(at::kCPU).contiguous()));
}

}  // namespace lathe::data
