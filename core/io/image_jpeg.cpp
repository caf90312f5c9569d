#include <cstring>
#include <memory>
#include <optional>

#include <turbojpeg.h>

#include "core/base/error.h"
#include "core/base/format.h"
#include "core/io/image_formats.h"

namespace lathe::io::formats {

namespace {

struct Frame {
  std::int32_t width = 0;
  std::int32_t height = 0;
  std::int32_t components = 0;
  std::int32_t bits = 0;
};

// Walks from marker to marker. turbojpeg's own header call refuses pictures whose subsampling has no name, and decodes
// a file without its end to a picture with a grey lower part; hence this.
class Markers {
 public:
  explicit Markers(Bytes file) : file_(file) {}

  // The next marker's code; its segment is then at position(). Empty: the file ends before one.
  std::optional<std::uint32_t> next() {
    while (position_ + 1 < file_.size()) {
      const void* found = std::memchr(file_.data() + position_, 0xFF, file_.size() - position_ - 1);
      if (found == nullptr) return std::nullopt;
      position_ = static_cast<std::size_t>(static_cast<const std::byte*>(found) - file_.data()) + 1;
      const std::uint32_t code = std::to_integer<std::uint32_t>(file_[position_]);
      if (code == 0xFF) continue;  // a fill byte
      ++position_;
      // 0 is a 0xFF of the compressed data; restart markers belong to it too.
      if (code != 0 && code != 1 && (code < 0xD0 || code > 0xD8)) return code;
    }
    return std::nullopt;
  }

  void skip_segment() { position_ += big_endian(file_, position_, 2); }
  std::size_t position() const { return position_; }

 private:
  Bytes file_;
  std::size_t position_ = 2;  // after the start marker
};

constexpr std::uint32_t kEnd = 0xD9;

bool starts_frame(std::uint32_t code) {
  return code >= 0xC0 && code <= 0xCF && code != 0xC4 && code != 0xC8 && code != 0xCC;
}

Frame read_frame(Bytes file, Markers& markers) {
  while (const auto code = markers.next()) {
    if (*code == kEnd) break;
    if (!starts_frame(*code)) {
      markers.skip_segment();
      continue;
    }
    const std::size_t at = markers.position() + 2;
    Frame frame;
    frame.bits = static_cast<std::int32_t>(big_endian(file, at, 1));
    frame.height = static_cast<std::int32_t>(big_endian(file, at + 1, 2));
    frame.width = static_cast<std::int32_t>(big_endian(file, at + 3, 2));
    frame.components = static_cast<std::int32_t>(big_endian(file, at + 5, 1));
    if (frame.bits != 8) refuse(format("it has {} bits a channel; only 8 are supported in JPEG", frame.bits));
    if (frame.components != 1 && frame.components != 3 && frame.components != 4) {
      refuse(format("it has {} colour channels", frame.components));
    }
    check_size(frame.width, frame.height);
    return frame;
  }
  refuse_cut("no picture header before its end");
}

void refuse_without_end(Markers& markers) {
  while (const auto code = markers.next()) {
    if (*code == kEnd) return;
    markers.skip_segment();
  }
  refuse_cut("its end marker is missing");
}

// libjpeg's warnings about things that leave every pixel right.
bool harmless(std::string_view warning) {
  const bool damage = warning.find("Premature end") != std::string_view::npos ||
                      warning.find("Corrupt JPEG data") != std::string_view::npos;
  return !damage || warning.find("extraneous bytes") != std::string_view::npos;
}

struct DestroyHandle {
  void operator()(void* handle) const { tjDestroy(handle); }
};

// `pixel_format`'s size × width × height bytes.
void decompress(Bytes file, const Frame& frame, int pixel_format, std::uint8_t* pixels) {
  const std::unique_ptr<void, DestroyHandle> handle(tjInitDecompress());
  if (!handle) throw std::bad_alloc();
  int flags = TJFLAG_ACCURATEDCT;
#ifdef TJFLAG_LIMITSCANS
  flags |= TJFLAG_LIMITSCANS;  // a small file of very many passes would keep us busy for hours
#endif
  const auto* data = reinterpret_cast<const unsigned char*>(file.data());
  const auto size = static_cast<decltype(tjBufSize(1, 1, 0))>(file.size());
  if (tjDecompress2(handle.get(), data, size, pixels, frame.width, 0, frame.height, pixel_format, flags) == 0) return;
  const std::string reason = tjGetErrorStr2(handle.get());
  if (tjGetErrorCode(handle.get()) == TJERR_WARNING && harmless(reason)) return;
  refuse(format("it is damaged ({})", reason));
}

// Pillow's CMYK → RGB on Adobe's inverted values: 255 − c is what the file holds.
void convert_cmyk(const std::vector<std::uint8_t>& stored, Image& image) {
  const auto channels = static_cast<std::size_t>(image.channels);
  for (std::size_t i = 0; i * 4 < stored.size(); ++i) {
    const std::uint32_t light = stored[4 * i + 3];  // 255 − black
    for (std::size_t c = 0; c < 3; ++c) {
      const std::uint32_t product = (255u - stored[4 * i + c]) * light + 128u;
      image.pixels[channels * i + c] = static_cast<std::uint8_t>(light - (((product >> 8) + product) >> 8));
    }
    if (channels == 4) image.pixels[4 * i + 3] = 255;
  }
}

}  // namespace

bool is_jpeg(Bytes file) {
  return starts_with(file, "\xFF\xD8\xFF");
}

ImageProbe probe_jpeg(Bytes file) {
  Markers markers(file);
  const Frame frame = read_frame(file, markers);
  const ColourMode mode = frame.components == 1   ? ColourMode::grey
                          : frame.components == 3 ? ColourMode::rgb
                                                  : ColourMode::cmyk;
  return {frame.width, frame.height, ImageFormat::jpeg, mode, frame.bits, false};
}

Image decode_jpeg(Bytes file, bool want_alpha) {
  Markers markers(file);
  const Frame frame = read_frame(file, markers);
  refuse_without_end(markers);
  Image image = blank(frame.width, frame.height, want_alpha);
  if (frame.components == 4) {
    std::vector<std::uint8_t> stored(static_cast<std::size_t>(frame.width) * static_cast<std::size_t>(frame.height) *
                                     4);
    decompress(file, frame, TJPF_CMYK, stored.data());
    convert_cmyk(stored, image);
  } else {
    decompress(file, frame, want_alpha ? TJPF_RGBA : TJPF_RGB, image.pixels.data());  // TJPF_RGBA fills alpha with 255
  }
  return image;
}

}  // namespace lathe::io::formats
