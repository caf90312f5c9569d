#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace lathe::plan {

// What headers of weight files tell: nothing here reads a weight.

// A tensor of the DiT by name without net., model.diffusion_model. or diffusion_model.
struct DitTensor {
  std::string name;
  std::vector<std::int64_t> shape;
};

// Of one file, or all parts of a checkpoint. Throws as io::open_sharded does.
std::vector<DitTensor> read_dit_tensors(const std::filesystem::path& path);

// Sizes of the network by names and shapes in its checkpoint. 0: not found there.
struct DitShape {
  std::int64_t parameters = 0;
  std::int64_t width = 0;  // D
  std::int64_t blocks = 0;
  std::int64_t mlp_width = 0;
  std::int64_t text_width = 0;  // of the text encoder's states
};
DitShape dit_shape(const std::vector<DitTensor>& tensors);

// Parameters of a safetensors file or checkpoint, or of the first one in a folder (a text encoder's). Throws as
// io::open_sharded does, and Error(file) where the folder holds none.
std::int64_t parameters_in(const std::filesystem::path& path);

// "blocks.3.mlp.layer1" is below "blocks." and a number.
bool is_below_numbered(std::string_view name, std::string_view root);

}  // namespace lathe::plan
