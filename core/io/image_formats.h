#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "core/io/image_file.h"

// The formats behind image_file.h. Each function throws Error(dataset) with the bare reason; the file's name is added
// there.
namespace lathe::io::formats {

using Bytes = std::span<const std::byte>;

bool is_png(Bytes file);
ImageProbe probe_png(Bytes file);
Image decode_png(Bytes file, bool want_alpha, SixteenBitGrey grey);
std::vector<std::byte> encode_png(const Image& image);

bool is_jpeg(Bytes file);
ImageProbe probe_jpeg(Bytes file);
Image decode_jpeg(Bytes file, bool want_alpha);

bool is_webp(Bytes file);
ImageProbe probe_webp(Bytes file);
Image decode_webp(Bytes file, bool want_alpha);

bool is_bmp(Bytes file);
ImageProbe probe_bmp(Bytes file);
Image decode_bmp(Bytes file, bool want_alpha);

[[noreturn]] void refuse(std::string reason);
// For a file that ends too early.
[[noreturn]] void refuse_cut(std::string_view detail);
// Throws when a size is 0 or beyond kLongestSide and kMostPixels.
void check_size(std::int64_t width, std::int64_t height);
Image blank(std::int64_t width, std::int64_t height, bool want_alpha);  // after check_size

// Integers at `offset`; refuse_cut() when the file is too short.
std::uint32_t big_endian(Bytes file, std::size_t offset, std::size_t bytes);
std::uint32_t little_endian(Bytes file, std::size_t offset, std::size_t bytes);
bool starts_with(Bytes file, std::string_view text, std::size_t offset = 0);

}  // namespace lathe::io::formats
