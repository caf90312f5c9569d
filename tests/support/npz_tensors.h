#pragma once

#include <cstring>
#include <filesystem>
#include <map>
#include <string>

#include <ATen/ATen.h>

#include "core/io/npz.h"
#include "core/models/common/state_dict.h"

namespace lathe::testing {

// Every array of an .npz file.
inline std::map<std::string, at::Tensor> npz_tensors(const std::filesystem::path& path) {
  const io::NpzFile file(path);
  std::map<std::string, at::Tensor> tensors;
  for (const io::NpzEntry& entry : file.entries()) {
    const io::NpzArray array = file.read(entry.name);
    at::Tensor tensor = at::empty(array.shape, at::TensorOptions().dtype(models::scalar_type(array.dtype)));
    std::memcpy(tensor.mutable_data_ptr(), array.bytes.data(), array.bytes.size());
    tensors[entry.name] = tensor;
  }
  return tensors;
}

}  // namespace lathe::testing
