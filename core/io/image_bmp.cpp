#include <array>
#include <bit>

#include "core/base/format.h"
#include "core/io/image_formats.h"

namespace lathe::io::formats {

namespace {

constexpr std::uint32_t kUncompressed = 0;
constexpr std::uint32_t kBitFields = 3;
constexpr std::size_t kFileHeader = 14;
constexpr std::size_t kCoreHeader = 12;  // OS/2: 16-bit sizes, palette entries of 3 bytes
constexpr std::size_t kMasks = 54;       // red, green, blue, and in long headers alpha: 4 bytes each

struct Header {
  std::int64_t width = 0;
  std::int64_t height = 0;
  bool top_down = false;
  std::uint32_t bits = 0;
  std::size_t size = 0;
  std::size_t pixels_at = 0;
  std::size_t palette_entries = 0;
  std::array<std::uint32_t, 4> masks{};  // of 16 and 32 bits; alpha 0: opaque

  std::size_t row_bytes() const { return (static_cast<std::size_t>(width) * bits + 31) / 32 * 4; }
};

void read_masks(Bytes file, std::uint32_t compression, Header& header) {
  if (compression == kBitFields) {
    const std::size_t count = header.size >= 56 ? 4 : 3;
    for (std::size_t i = 0; i < count; ++i) header.masks[i] = little_endian(file, kMasks + 4 * i, 4);
    if (header.masks[0] == 0 || header.masks[1] == 0 || header.masks[2] == 0) refuse("its colour masks are empty");
  } else {
    header.masks = header.bits == 16 ? std::array<std::uint32_t, 4>{0x7C00, 0x03E0, 0x001F, 0}
                                     : std::array<std::uint32_t, 4>{0xFF0000, 0x00FF00, 0x0000FF, 0};
  }
}

Header read_header(Bytes file) {
  Header header;
  header.pixels_at = little_endian(file, 10, 4);
  header.size = little_endian(file, 14, 4);
  std::uint32_t compression = kUncompressed;
  if (header.size == kCoreHeader) {
    header.width = little_endian(file, 18, 2);
    header.height = little_endian(file, 20, 2);
    header.bits = little_endian(file, 24, 2);
  } else if (header.size >= 40) {
    header.width = static_cast<std::int32_t>(little_endian(file, 18, 4));
    header.height = static_cast<std::int32_t>(little_endian(file, 22, 4));
    header.bits = little_endian(file, 28, 2);
    compression = little_endian(file, 30, 4);
    header.palette_entries = little_endian(file, 46, 4);
  } else {
    refuse(format("its header of {} bytes is of no known kind", header.size));
  }
  header.top_down = header.height < 0;
  header.height = header.top_down ? -header.height : header.height;
  check_size(header.width, header.height);

  const bool palette = header.bits == 1 || header.bits == 4 || header.bits == 8;
  const bool words = header.bits == 16 || header.bits == 32;
  if (!palette && !words && header.bits != 24) refuse(format("{} bits a pixel are not supported", header.bits));
  if (compression != kUncompressed && !(compression == kBitFields && words)) {
    refuse(format("its compression (kind {}) is not supported; save it as PNG", compression));
  }
  if (palette) {
    const std::size_t most = std::size_t{1} << header.bits;
    if (header.palette_entries == 0 || header.palette_entries > most) header.palette_entries = most;
  }
  if (words) read_masks(file, compression, header);
  return header;
}

using Colour = std::array<std::uint8_t, 4>;

std::array<Colour, 256> read_palette(Bytes file, const Header& header) {
  std::array<Colour, 256> palette;
  palette.fill({0, 0, 0, 255});
  const std::size_t entry_bytes = header.size == kCoreHeader ? 3 : 4;
  for (std::size_t i = 0; i < header.palette_entries; ++i) {
    const std::size_t at = kFileHeader + header.size + i * entry_bytes;
    for (std::size_t c = 0; c < 3; ++c) {  // stored blue first
      palette[i][2 - c] = static_cast<std::uint8_t>(little_endian(file, at + c, 1));
    }
  }
  return palette;
}

// A field of a word as 0…255, rounded down as Pillow does.
std::uint8_t field(std::uint32_t word, std::uint32_t mask) {
  const std::uint32_t most = mask >> std::countr_zero(mask);
  const std::uint64_t value = (word & mask) >> std::countr_zero(mask);
  return static_cast<std::uint8_t>(value * 255 / most);
}

Colour pixel(const std::byte* row, std::size_t x, const Header& header, const std::array<Colour, 256>& palette) {
  const auto byte = [&](std::size_t i) { return std::to_integer<std::uint32_t>(row[i]); };
  const std::uint32_t bits = header.bits;
  if (bits <= 8) {
    const std::size_t bit = x * bits;
    const std::uint32_t shift = 8 - bits - static_cast<std::uint32_t>(bit % 8);  // the first pixel has the high bits
    return palette[(byte(bit / 8) >> shift) & ((1u << bits) - 1)];
  }
  if (bits == 24) {
    return {static_cast<std::uint8_t>(byte(3 * x + 2)), static_cast<std::uint8_t>(byte(3 * x + 1)),
            static_cast<std::uint8_t>(byte(3 * x)), 255};
  }
  std::uint32_t word = 0;
  for (std::size_t i = bits / 8; i-- > 0;) word = (word << 8) | byte(x * bits / 8 + i);
  return {field(word, header.masks[0]), field(word, header.masks[1]), field(word, header.masks[2]),
          header.masks[3] != 0 ? field(word, header.masks[3]) : std::uint8_t{255}};
}

}  // namespace

bool is_bmp(Bytes file) {
  return starts_with(file, "BM");
}

ImageProbe probe_bmp(Bytes file) {
  const Header header = read_header(file);
  const bool alpha = header.masks[3] != 0;
  const ColourMode mode = header.bits <= 8 ? ColourMode::palette : alpha ? ColourMode::rgba : ColourMode::rgb;
  const std::int32_t bits = header.bits <= 8 ? static_cast<std::int32_t>(header.bits) : 8;
  return {static_cast<std::int32_t>(header.width),
          static_cast<std::int32_t>(header.height),
          ImageFormat::bmp,
          mode,
          bits,
          alpha};
}

Image decode_bmp(Bytes file, bool want_alpha) {
  const Header header = read_header(file);
  const std::array<Colour, 256> palette = read_palette(file, header);
  const auto height = static_cast<std::size_t>(header.height);
  const auto width = static_cast<std::size_t>(header.width);
  // Some writers leave out the padding of the last row.
  const std::uint64_t expected = header.pixels_at + header.row_bytes() * (height - 1) + (width * header.bits + 7) / 8;
  if (header.pixels_at < kFileHeader + header.size) refuse("its pixels would lie in its header");
  if (expected > file.size()) refuse_cut(format("expected {} bytes, found {}", expected, file.size()));

  Image image = blank(header.width, header.height, want_alpha);
  const auto channels = static_cast<std::size_t>(image.channels);
  for (std::size_t y = 0; y < height; ++y) {
    const std::size_t stored = header.top_down ? y : height - 1 - y;
    const std::byte* row = file.data() + header.pixels_at + stored * header.row_bytes();
    std::uint8_t* out = image.pixels.data() + y * width * channels;
    for (std::size_t x = 0; x < width; ++x) {
      const Colour colour = pixel(row, x, header, palette);
      for (std::size_t c = 0; c < channels; ++c) *out++ = colour[c];
    }
  }
  return image;
}

}  // namespace lathe::io::formats
