#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>
#include <vector>

namespace lathe::io {

enum class ImageFormat { png, jpeg, webp, bmp };
enum class ColourMode { grey, grey_alpha, palette, rgb, rgba, cmyk };
std::string_view name(ImageFormat format);  // "PNG"
std::string_view name(ColourMode mode);     // "grey + alpha"

// What the header says. Orientation tags are not looked at: neither here nor when decoding is a picture turned.
struct ImageProbe {
  std::int32_t width = 0;
  std::int32_t height = 0;
  ImageFormat format = ImageFormat::png;
  ColourMode mode = ColourMode::rgb;
  std::int32_t bits = 8;   // of one channel or palette index
  bool has_alpha = false;  // an alpha channel, or a transparent palette entry or colour

  bool sixteen_bit() const { return bits == 16; }
};

struct Image {
  std::int32_t width = 0;
  std::int32_t height = 0;
  std::int32_t channels = 3;         // 3: RGB, 4: RGBA
  std::vector<std::uint8_t> pixels;  // height × width × channels, no padding

  std::span<const std::uint8_t> at(std::int32_t x, std::int32_t y) const {
    const auto first = (static_cast<std::size_t>(y) * static_cast<std::size_t>(width) + static_cast<std::size_t>(x)) *
                       static_cast<std::size_t>(channels);
    return std::span(pixels).subspan(first, static_cast<std::size_t>(channels));
  }
};

// A side of at most 2^15 and 2^28 pixels in all: somewhat more than Pillow opens.
inline constexpr std::int32_t kLongestSide = 1 << 15;
inline constexpr std::int64_t kMostPixels = std::int64_t{1} << 28;

// The extensions that are looked for in folders, as the reference writes them: all lower or all upper case.
std::span<const std::string_view> image_extensions();

// Reads headers only. The format is told by the first bytes, whatever the file is called. Error(dataset) that names the
// file and the reason.
ImageProbe probe_image(const std::filesystem::path& path);

// The reference shows 16-bit grey as Pillow does: what is above 255 becomes 255, so that most pictures turn white.
// `scale` shows the picture instead.
enum class SixteenBitGrey { clip, scale };

// Decodes to 8 bits a channel, equal to Pillow's convert("RGB") or convert("RGBA"). Without `want_alpha` alpha is
// dropped, never composited: a transparent pixel keeps its colour. With it, what has no alpha is opaque, and a PNG's
// transparent palette entries or colour get alpha 0. 16-bit channels keep their high byte, except grey (above). CMYK is
// taken as Adobe stores it, inverted. Colour profiles are ignored; of an animation the first frame is taken.
// Error(dataset) that names the file and the reason, also for a file that is cut off but would decode in part.
Image decode_image(const std::filesystem::path& path, bool want_alpha, SixteenBitGrey grey = SixteenBitGrey::clip);

// Writes aside and renames. Same pixels, same bytes (with one zlib): no times, no names in it.
void encode_png(const std::filesystem::path& path, const Image& image);

}  // namespace lathe::io
