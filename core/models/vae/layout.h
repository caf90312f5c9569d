#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace lathe::models::vae {

constexpr std::int64_t kLatentChannels = 16;
constexpr std::int64_t kFactor = 8;  // pixels of a side per latent

// Key and shape of one weight, in the Qwen-Image naming.
using KeyShape = std::pair<std::string, std::vector<std::int64_t>>;

// Every weight of the network with `base` channels at full resolution, in state-dict order (spec data 6.2).
std::vector<KeyShape> layout(std::int64_t base);

// The Qwen-Image name of a key in the Wan/ComfyUI naming; a key that already has it is returned as it is (the two
// namings share no key).
std::string qwen_image_key(const std::string& key);

}  // namespace lathe::models::vae
