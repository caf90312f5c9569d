#include "core/models/common/tensor_file.h"

#include "core/models/common/state_dict.h"

namespace lathe::models {

void write_tensors(const std::filesystem::path& path, const NamedTensors& tensors, const io::Metadata& metadata) {
  std::vector<at::Tensor> dense;  // holds the bytes until they are written
  std::vector<io::TensorToWrite> items;
  for (const auto& [name, tensor] : tensors) {
    const at::Tensor& kept = dense.emplace_back(tensor.detach().cpu().contiguous());
    const auto* bytes = static_cast<const std::byte*>(kept.const_data_ptr());
    items.push_back({name, file_dtype(kept.scalar_type()), kept.sizes().vec(), {bytes, kept.nbytes()}});
  }
  io::write_safetensors(path, items, metadata);
}

}  // namespace lathe::models
