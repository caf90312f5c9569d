#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "core/io/safetensors.h"

namespace lathe::models {

// Weights by key, taken out as a model is built; what is asked for and absent, or there and never asked for, is
// reported together.
class StateDict {
 public:
  // Reads every tensor of the file(s) (a 00001-of-0000N name opens its siblings). `rename` gives the key to use for a
  // key of the file, or "" to ignore it. Tensors borrow the mapped file until cast or moved.
  static StateDict load(const std::filesystem::path& path,
                        const std::function<std::string(const std::string&)>& rename);

  void put(std::string key, at::Tensor tensor);
  bool has(const std::string& key) const;
  std::vector<std::int64_t> shape(const std::string& key) const;  // {} where absent
  std::vector<std::string> keys() const;
  // The tensor cast to `dtype` on `device`; noted as missing (and an empty tensor returned) where absent, as wrong
  // where its shape is not `shape` (a −1 accepts any size).
  at::Tensor take(const std::string& key, std::vector<std::int64_t> shape, at::ScalarType dtype, at::Device device);
  void ignore(const std::string& key);
  // Throws Error(checkpoint) that lists missing, unexpected and misshapen keys (the first ten of each and the counts).
  void finish(const std::string& what) const;

 private:
  std::map<std::string, at::Tensor> tensors_;
  std::set<std::string> taken_;
  std::vector<std::string> missing_, misshapen_;
};

// Bytes of a file as a tensor without a copy; the file stays mapped while the tensor lives.
at::Tensor borrow(const io::SafetensorsFile& file, const io::TensorInfo& info);
at::ScalarType scalar_type(io::DType dtype);
io::DType file_dtype(at::ScalarType type);

}  // namespace lathe::models
