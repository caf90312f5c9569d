#include "core/io/image_file.h"

#include <array>
#include <cstring>
#include <optional>

#include "core/base/error.h"
#include "core/base/files.h"
#include "core/base/format.h"
#include "core/io/image_formats.h"

namespace lathe::io {
namespace fs = std::filesystem;

namespace formats {

void refuse(std::string reason) {
  throw Error(ErrorKind::dataset, std::move(reason));
}

void refuse_cut(std::string_view detail) {
  refuse(format("it is cut off ({})", detail));
}

void check_size(std::int64_t width, std::int64_t height) {
  if (width <= 0 || height <= 0) refuse(format("its size is {}x{}", width, height));
  if (width > kLongestSide || height > kLongestSide || width * height > kMostPixels) {
    refuse(format("its size {}x{} is beyond the limit of {} a side and {} pixels", width, height, kLongestSide,
                  kMostPixels));
  }
}

Image blank(std::int64_t width, std::int64_t height, bool want_alpha) {
  check_size(width, height);
  Image image{static_cast<std::int32_t>(width), static_cast<std::int32_t>(height), want_alpha ? 4 : 3, {}};
  image.pixels.resize(static_cast<std::size_t>(width * height) * (want_alpha ? 4 : 3));
  return image;
}

namespace {

std::uint32_t byte_at(Bytes file, std::size_t offset) {
  return std::to_integer<std::uint32_t>(file[offset]);
}

void need(Bytes file, std::size_t offset, std::size_t bytes) {
  if (offset > file.size() || file.size() - offset < bytes) refuse_cut("its header is incomplete");
}

}  // namespace

std::uint32_t big_endian(Bytes file, std::size_t offset, std::size_t bytes) {
  need(file, offset, bytes);
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < bytes; ++i) value = (value << 8) | byte_at(file, offset + i);
  return value;
}

std::uint32_t little_endian(Bytes file, std::size_t offset, std::size_t bytes) {
  need(file, offset, bytes);
  std::uint32_t value = 0;
  for (std::size_t i = bytes; i-- > 0;) value = (value << 8) | byte_at(file, offset + i);
  return value;
}

bool starts_with(Bytes file, std::string_view text, std::size_t offset) {
  return file.size() >= offset + text.size() && std::memcmp(file.data() + offset, text.data(), text.size()) == 0;
}

}  // namespace formats

namespace {

ImageFormat format_of(formats::Bytes file) {
  if (file.empty()) formats::refuse("it is empty (0 bytes)");
  if (formats::is_png(file)) return ImageFormat::png;
  if (formats::is_jpeg(file)) return ImageFormat::jpeg;
  if (formats::is_webp(file)) return ImageFormat::webp;
  if (formats::is_bmp(file)) return ImageFormat::bmp;
  formats::refuse("it is not a PNG, JPEG, WebP or BMP file");
}

// Opens the file, hands its bytes to `work` and puts its name before any reason.
template <class Work>
auto with_file(const fs::path& path, Work work) {
  std::optional<MappedFile> file;
  try {
    file.emplace(path);
  } catch (const Error& error) {  // names the file already
    throw Error(ErrorKind::dataset, error.message());
  }
  try {
    return work(file->bytes());
  } catch (const Error& error) {
    throw Error(error.kind(), format("image '{}' cannot be used: {}", path, error.message()));
  } catch (const std::bad_alloc&) {
    throw Error(ErrorKind::resource, format("not enough memory to open image '{}'", path));
  }
}

}  // namespace

std::string_view name(ImageFormat format) {
  constexpr std::array<std::string_view, 4> names = {"PNG", "JPEG", "WebP", "BMP"};
  return names[static_cast<std::size_t>(format)];
}

std::string_view name(ColourMode mode) {
  constexpr std::array<std::string_view, 6> names = {"grey", "grey + alpha", "palette", "RGB", "RGBA", "CMYK"};
  return names[static_cast<std::size_t>(mode)];
}

std::span<const std::string_view> image_extensions() {
  static constexpr std::array<std::string_view, 10> extensions = {".png", ".jpg", ".jpeg", ".webp", ".bmp",
                                                                  ".PNG", ".JPG", ".JPEG", ".WEBP", ".BMP"};
  return extensions;
}

ImageProbe probe_image(const fs::path& path) {
  return with_file(path, [](formats::Bytes file) {
    ImageProbe probe;
    switch (format_of(file)) {
      case ImageFormat::png:
        probe = formats::probe_png(file);
        break;
      case ImageFormat::jpeg:
        probe = formats::probe_jpeg(file);
        break;
      case ImageFormat::webp:
        probe = formats::probe_webp(file);
        break;
      case ImageFormat::bmp:
        probe = formats::probe_bmp(file);
        break;
    }
    formats::check_size(probe.width, probe.height);
    return probe;
  });
}

Image decode_image(const fs::path& path, bool want_alpha, SixteenBitGrey grey) {
  return with_file(path, [&](formats::Bytes file) {
    switch (format_of(file)) {
      case ImageFormat::png:
        return formats::decode_png(file, want_alpha, grey);
      case ImageFormat::jpeg:
        return formats::decode_jpeg(file, want_alpha);
      case ImageFormat::webp:
        return formats::decode_webp(file, want_alpha);
      case ImageFormat::bmp:
        break;
    }
    return formats::decode_bmp(file, want_alpha);
  });
}

void encode_png(const fs::path& path, const Image& image) {
  const std::vector<std::byte> bytes = formats::encode_png(image);
  AtomicFile file(path);
  file.write(bytes);
  file.commit();
}

}  // namespace lathe::io
