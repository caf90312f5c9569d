#include "core/plan/model_file.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <system_error>

#include "core/base/error.h"
#include "core/base/format.h"
#include "core/io/safetensors.h"

namespace lathe::plan {

namespace fs = std::filesystem;

namespace {

constexpr std::array<std::string_view, 3> kPrefixes = {"net.", "model.diffusion_model.", "diffusion_model."};

std::int64_t elements(const std::vector<std::int64_t>& shape) {
  std::int64_t product = 1;
  for (const std::int64_t side : shape) product *= side;
  return product;
}

// The first safetensors file of a folder, by name.
fs::path weights_in(const fs::path& folder) {
  std::optional<fs::path> first;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    const fs::path& path = entry->path();
    if (path.extension() == ".safetensors" && (!first || path < *first)) first = path;
  }
  if (!first) throw Error(ErrorKind::file, format("there is no .safetensors file in {}", folder));
  return *first;
}

}  // namespace

std::vector<DitTensor> read_dit_tensors(const fs::path& path) {
  std::vector<DitTensor> tensors;
  for (const io::SafetensorsFile& file : io::open_sharded(path)) {
    for (const io::TensorInfo& info : file.tensors()) {
      std::string_view name = info.name;
      for (const std::string_view prefix : kPrefixes) {
        if (!name.starts_with(prefix)) continue;
        name.remove_prefix(prefix.size());
        break;
      }
      tensors.push_back({std::string(name), info.shape});
    }
  }
  return tensors;
}

DitShape dit_shape(const std::vector<DitTensor>& tensors) {
  DitShape shape;
  std::int64_t direct_text_width = 0;  // without an LLM adapter the blocks read the text encoder themselves
  for (const DitTensor& tensor : tensors) {
    if (tensor.name.starts_with("pos_embedder.")) continue;  // buffers that are computed anyway
    shape.parameters += elements(tensor.shape);
    const std::string_view name = tensor.name;
    if (is_below_numbered(name, "blocks.")) {
      std::int64_t number = 0;
      std::from_chars(name.data() + 7, name.data() + name.size(), number);
      shape.blocks = std::max(shape.blocks, number + 1);
    }
    if (tensor.shape.size() != 2) continue;
    if (name == "x_embedder.proj.1.weight") shape.width = tensor.shape[0];
    if (name == "blocks.0.mlp.layer1.weight") shape.mlp_width = tensor.shape[0];
    if (name == "blocks.0.cross_attn.k_proj.weight") direct_text_width = tensor.shape[1];
    if (name == "llm_adapter.blocks.0.cross_attn.k_proj.weight") shape.text_width = tensor.shape[1];
  }
  if (shape.text_width == 0) shape.text_width = direct_text_width;
  return shape;
}

std::int64_t parameters_in(const fs::path& path) {
  std::error_code ignored;
  std::int64_t parameters = 0;
  for (const io::SafetensorsFile& file : io::open_sharded(fs::is_directory(path, ignored) ? weights_in(path) : path)) {
    for (const io::TensorInfo& info : file.tensors()) parameters += elements(info.shape);
  }
  return parameters;
}

bool is_below_numbered(std::string_view name, std::string_view root) {
  if (!name.starts_with(root)) return false;
  name.remove_prefix(root.size());
  const std::size_t dot = name.find('.');
  return dot != std::string_view::npos && dot > 0 &&
         std::ranges::all_of(name.substr(0, dot), [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace lathe::plan
