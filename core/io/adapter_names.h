#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace lathe::io {

// Adapter files name a module with underscores: "lora_unet_blocks_0_mlp_layer1.lora_down.weight". The image program
// (ComfyUI) reads paths with dots: "diffusion_model.blocks.0.mlp.layer1.lora_A.weight". Which underscore was a dot can
// only be told from the modules that there are, so the names go through their list. The reference guesses instead and
// is wrong for t_embedder and two of the three adaln_modulation; those come out right here, and its wrong names are
// understood on the way back.
class AdapterNames {
 public:
  // Paths of the modules that an adapter may change: of the transformer ("blocks.0.mlp.layer1", without "net.") and of
  // the text encoder ("layers.0.mlp.gate_proj", without "model."). Error(internal) when two flatten to one name.
  AdapterNames(std::span<const std::string> transformer_modules, std::span<const std::string> text_encoder_modules);

  // Empty: the prefix or the module is unknown. What follows the module is kept but for lora_down and lora_up, which
  // become lora_A and lora_B.
  std::optional<std::string> to_image_program(std::string_view key) const;
  std::optional<std::string> from_image_program(std::string_view key) const;

 private:
  struct Target {
    std::string_view file_prefix;
    std::string_view program_prefix;
    std::map<std::string, std::string, std::less<>> path_by_flat_name;
  };
  Target transformer_;
  Target text_encoder_;
};

}  // namespace lathe::io
