#pragma once

#include <cstdint>
#include <filesystem>

namespace lathe::models::vae {

constexpr std::int64_t kTinyBase = 8;  // the fewest channels that the construction needs

// Writes a VAE for demonstrations and tests: `base` channels instead of 96, the key names and the layout of the real
// one, no training. Its weights are chosen so that decode(encode(x)) is x at an eighth of the resolution, smoothed:
// latents hold the mean colour of 8×8 pixels, mixed into all 16 channels so that each has the spread that a diffusion
// model expects. The rest is small random numbers (the same every time).
void write_tiny(const std::filesystem::path& path, std::int64_t base = kTinyBase);

}  // namespace lathe::models::vae
