#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>

namespace lathe::demo {

inline constexpr std::size_t kPictureCount = 48;

// Draws `count` pictures as PNG into `folder` (made where it is missing), each with a caption in a .txt beside it:
// coloured shapes on patterned backgrounds, sides of 256 to 448 pixels in six aspect ratios. The same seed and count
// give the same files. Returns the number of pictures. Error(file).
std::size_t write_demo_pictures(const std::filesystem::path& folder, std::uint64_t seed,
                                std::size_t count = kPictureCount);

}  // namespace lathe::demo
