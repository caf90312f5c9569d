#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <ATen/core/Tensor.h>

#include "core/io/npz.h"
#include "core/io/safetensors.h"

namespace lathe::data {

// An array of a cache file as a tensor. Error(dataset) that names file and array where it is not there or has a type
// that caches do not hold.
at::Tensor read_tensor(const io::NpzFile& file, std::string_view name);

// Arrays to write: dense copies on the CPU, kept alive with their descriptions.
class NpzTensors {
 public:
  void add(std::string name, const at::Tensor& tensor);
  const std::vector<io::TensorToWrite>& arrays() const { return arrays_; }

 private:
  std::vector<at::Tensor> kept_;
  std::vector<io::TensorToWrite> arrays_;
};

// SHA-256 of a tensor's elements as they would be written.
std::string tensor_sha256(const at::Tensor& tensor);

}  // namespace lathe::data
