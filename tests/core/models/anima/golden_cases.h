#pragma once

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/base/paths.h"
#include "core/models/anima/dit.h"
#include "core/models/common/state_dict.h"
#include "tests/support/golden.h"

namespace lathe::testing {

using TensorMap = std::map<std::string, at::Tensor>;

// Every tensor of a golden file, by name.
inline TensorMap golden_tensors(const std::string& relative) {
  const io::SafetensorsFile file(golden_folder() / from_utf8(relative));
  TensorMap tensors;
  for (const io::TensorInfo& info : file.tensors()) tensors[info.name] = models::borrow(file, info).clone();
  return tensors;
}

// Names without folder and ending of the golden files anima/<prefix>*.safetensors.
inline std::vector<std::string> golden_cases(const std::string& prefix) {
  std::vector<std::string> names;
  const std::filesystem::path folder = golden_folder() / "anima";
  if (!std::filesystem::is_directory(folder)) return names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = to_utf8(entry.path().stem());
    if (name.rfind(prefix, 0) == 0 && entry.path().extension() == ".safetensors") names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

inline std::filesystem::path golden_model() {
  return golden_folder() / "anima" / "tiny_dit.safetensors";
}

inline std::filesystem::path golden_lora() {
  return golden_folder() / "anima" / "tiny_lora.safetensors";
}

// Every other column times 1.01. (A whole product before a norm may be scaled without effect.)
inline at::Tensor one_percent_off(const at::Tensor& weight) {
  at::Tensor changed = weight.clone();
  changed.slice(-1, 0, weight.size(-1), 2).mul_(1.01);
  return changed;
}

inline models::anima::DitInputs inputs_of(const TensorMap& golden) {
  const auto get = [&](const std::string& name) {
    const auto found = golden.find("in." + name);
    return found == golden.end() ? at::Tensor() : found->second;
  };
  return {.x = get("x"),
          .timesteps = get("timesteps"),
          .text = get("prompt_embeds"),
          .text_mask = get("attn_mask"),
          .t5_ids = get("t5_input_ids"),
          .t5_mask = get("t5_attn_mask"),
          .padding_mask = get("padding_mask")};
}

}  // namespace lathe::testing
