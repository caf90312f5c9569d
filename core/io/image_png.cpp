#include <algorithm>
#include <array>
#include <bit>
#include <csetjmp>
#include <cstring>
#include <optional>

#include <png.h>

#include "core/base/error.h"
#include "core/base/format.h"
#include "core/io/image_formats.h"

// libpng reports an error by a jump to the last setjmp. The functions that call it (marked "jumps") therefore hold
// nothing with a destructor; memory is allocated and errors are thrown outside of them.
namespace lathe::io::formats {

namespace {

constexpr std::string_view kSignature = "\x89PNG\r\n\x1a\n";
constexpr std::size_t kHeaderEnd = 33;  // signature and header chunk

struct PngHeader {
  std::int64_t width = 0;
  std::int64_t height = 0;
  std::uint32_t bits = 0;
  std::uint32_t colour_type = 0;
};

PngHeader read_header(Bytes file) {
  if (!starts_with(file, "IHDR", 12)) {
    if (file.size() < kHeaderEnd) refuse_cut("its header is incomplete");
    refuse("its first chunk is not a header");
  }
  PngHeader header;
  header.width = big_endian(file, 16, 4);
  header.height = big_endian(file, 20, 4);
  header.bits = big_endian(file, 24, 1);
  header.colour_type = big_endian(file, 25, 1);
  if (header.colour_type > 6 || header.colour_type == 1 || header.colour_type == 5) {
    refuse(format("its colour type {} is unknown", header.colour_type));
  }
  if (!std::has_single_bit(header.bits) || header.bits > 16) refuse(format("it claims {} bits", header.bits));
  check_size(header.width, header.height);
  return header;
}

// Looks for a transparency chunk in front of the pixels.
bool has_transparency_chunk(Bytes file) {
  std::size_t at = kHeaderEnd;
  while (at + 8 <= file.size() && !starts_with(file, "IDAT", at + 4) && !starts_with(file, "IEND", at + 4)) {
    if (starts_with(file, "tRNS", at + 4)) return true;
    at += std::size_t{12} + big_endian(file, at, 4);
  }
  return false;
}

ColourMode mode_of(std::uint32_t colour_type) {
  switch (colour_type) {
    case PNG_COLOR_TYPE_GRAY:
      return ColourMode::grey;
    case PNG_COLOR_TYPE_GRAY_ALPHA:
      return ColourMode::grey_alpha;
    case PNG_COLOR_TYPE_PALETTE:
      return ColourMode::palette;
    case PNG_COLOR_TYPE_RGB_ALPHA:
      return ColourMode::rgba;
    default:
      return ColourMode::rgb;
  }
}

// What passes through libpng's callbacks.
struct Job {
  Bytes file;
  std::size_t position = 0;
  std::vector<std::byte>* output = nullptr;
  bool out_of_memory = false;
  std::array<char, 160> reason{};
  png_structp png = nullptr;
  png_infop info = nullptr;
  // After prepare():
  std::size_t row_bytes = 0;
  std::size_t channels = 0;
  bool wide = false;                              // 16-bit grey, left as it is
  std::optional<std::uint16_t> transparent_grey;  // for `wide`
};

void on_error(png_structp png, png_const_charp message) {
  auto* job = static_cast<Job*>(png_get_error_ptr(png));
  std::strncpy(job->reason.data(), message, job->reason.size() - 1);
  png_longjmp(png, 1);
}

void on_warning(png_structp, png_const_charp) {}

void on_read(png_structp png, png_bytep target, std::size_t size) {
  auto* job = static_cast<Job*>(png_get_io_ptr(png));
  if (job->file.size() - job->position < size) png_error(png, "cut off");
  std::memcpy(target, job->file.data() + job->position, size);
  job->position += size;
}

void on_write(png_structp png, png_bytep source, std::size_t size) {
  auto* job = static_cast<Job*>(png_get_io_ptr(png));
  const auto* first = reinterpret_cast<const std::byte*>(source);
  try {  // no exception may pass through libpng
    job->output->insert(job->output->end(), first, first + size);
    return;
  } catch (const std::bad_alloc&) {
    job->out_of_memory = true;
  }
  png_error(png, "out of memory");
}

void on_flush(png_structp) {}

struct PngReader : Job {
  explicit PngReader(Bytes bytes) {
    file = bytes;
    png = png_create_read_struct(PNG_LIBPNG_VER_STRING, static_cast<Job*>(this), on_error, on_warning);
    info = png != nullptr ? png_create_info_struct(png) : nullptr;
    if (info == nullptr) {
      png_destroy_read_struct(&png, nullptr, nullptr);
      throw std::bad_alloc();
    }
  }
  ~PngReader() { png_destroy_read_struct(&png, &info, nullptr); }
  PngReader(const PngReader&) = delete;
  PngReader& operator=(const PngReader&) = delete;
};

// Jumps. Reads what stands before the pixels and chooses 8 bits a channel, except for 16-bit grey.
bool prepare(Job& job, bool want_alpha) {
  if (setjmp(png_jmpbuf(job.png)) != 0) return false;
  png_set_read_fn(job.png, &job, on_read);
  png_set_user_limits(job.png, kLongestSide, kLongestSide);
  // Profiles and texts are of no use here, and a damaged one must not cost the picture.
  static constexpr png_byte ignored[] = "iCCP\0tEXt\0zTXt\0iTXt\0eXIf\0gAMA\0cHRM\0sRGB\0sPLT";
  png_set_keep_unknown_chunks(job.png, PNG_HANDLE_CHUNK_NEVER, ignored, sizeof ignored / 5);
  png_read_info(job.png, job.info);

  const png_byte type = png_get_color_type(job.png, job.info);
  const png_byte bits = png_get_bit_depth(job.png, job.info);
  const bool transparency = png_get_valid(job.png, job.info, PNG_INFO_tRNS) != 0;
  if (type == PNG_COLOR_TYPE_PALETTE) png_set_palette_to_rgb(job.png);
  if (type == PNG_COLOR_TYPE_GRAY && bits < 8) png_set_expand_gray_1_2_4_to_8(job.png);
  if (type == PNG_COLOR_TYPE_GRAY && bits == 16) {
    job.wide = true;
    png_color_16p colour = nullptr;
    if (transparency && png_get_tRNS(job.png, job.info, nullptr, nullptr, &colour) != 0) {
      job.transparent_grey = colour->gray;
    }
  } else {
    png_set_strip_16(job.png);  // the high byte, as Pillow takes it
    if (transparency && want_alpha) png_set_tRNS_to_alpha(job.png);
  }
  png_set_interlace_handling(job.png);
  png_read_update_info(job.png, job.info);
  job.row_bytes = png_get_rowbytes(job.png, job.info);
  job.channels = png_get_channels(job.png, job.info);
  return true;
}

// Jumps. Reads all rows and what follows them: a file without its end is not whole.
bool read_rows(Job& job, png_bytepp rows) {
  if (setjmp(png_jmpbuf(job.png)) != 0) return false;
  png_read_image(job.png, rows);
  png_read_end(job.png, nullptr);
  return true;
}

[[noreturn]] void refuse_job(const Job& job) {
  if (job.out_of_memory) throw std::bad_alloc();
  const std::string_view reason = job.reason.data();
  if (reason == "cut off") refuse_cut("the picture's data end too early");
  refuse(format("it is damaged ({})", reason));
}

// Deflate shrinks by 1032 at most: a small file that claims a huge picture is refused before memory is taken for it.
void refuse_impossible_size(Bytes file, const PngHeader& header) {
  constexpr std::array<std::int64_t, 7> samples = {1, 0, 3, 1, 2, 0, 4};
  const std::int64_t bits = header.width * samples[header.colour_type] * header.bits;
  const std::int64_t raw = header.height * (bits / 8 + 1);
  if (raw / 1032 > static_cast<std::int64_t>(file.size())) {
    refuse_cut(format("{} bytes cannot hold {}x{} pixels", file.size(), header.width, header.height));
  }
}

// One row of 8-bit samples (1 grey, 2 grey + alpha, 3 RGB, 4 RGBA) to RGB or RGBA.
void convert_row(const std::uint8_t* from, std::size_t channels, std::size_t width, std::size_t out_channels,
                 std::uint8_t* to) {
  const bool grey = channels <= 2;
  const bool alpha = channels % 2 == 0;
  for (std::size_t x = 0; x < width; ++x, from += channels, to += out_channels) {
    for (std::size_t c = 0; c < 3; ++c) to[c] = from[grey ? 0 : c];
    if (out_channels == 4) to[3] = alpha ? from[channels - 1] : 255;
  }
}

void convert_wide_row(const std::uint8_t* from, const Job& job, SixteenBitGrey grey, std::size_t width,
                      std::size_t out_channels, std::uint8_t* to) {
  for (std::size_t x = 0; x < width; ++x, from += 2, to += out_channels) {
    const std::uint32_t value = (std::uint32_t{from[0]} << 8) | from[1];
    const std::uint32_t shown = grey == SixteenBitGrey::clip ? std::min(value, 255u) : (value * 255u + 32767u) / 65535u;
    std::fill_n(to, 3, static_cast<std::uint8_t>(shown));
    if (out_channels == 4) to[3] = job.transparent_grey == value ? 0 : 255;
  }
}

}  // namespace

bool is_png(Bytes file) {
  return starts_with(file, kSignature);
}

ImageProbe probe_png(Bytes file) {
  const PngHeader header = read_header(file);
  const bool channel = (header.colour_type & PNG_COLOR_MASK_ALPHA) != 0;
  return {static_cast<std::int32_t>(header.width),
          static_cast<std::int32_t>(header.height),
          ImageFormat::png,
          mode_of(header.colour_type),
          static_cast<std::int32_t>(header.bits),
          channel || has_transparency_chunk(file)};
}

Image decode_png(Bytes file, bool want_alpha, SixteenBitGrey grey) {
  const PngHeader header = read_header(file);
  refuse_impossible_size(file, header);
  PngReader reader(file);
  if (!prepare(reader, want_alpha)) refuse_job(reader);

  Image image = blank(header.width, header.height, want_alpha);
  const auto height = static_cast<std::size_t>(image.height);
  const auto width = static_cast<std::size_t>(image.width);
  std::vector<std::uint8_t> samples(reader.row_bytes * height);
  std::vector<png_bytep> rows(height);
  for (std::size_t y = 0; y < height; ++y) rows[y] = samples.data() + y * reader.row_bytes;
  if (!read_rows(reader, rows.data())) refuse_job(reader);

  const auto channels = static_cast<std::size_t>(image.channels);
  for (std::size_t y = 0; y < height; ++y) {
    std::uint8_t* to = image.pixels.data() + y * width * channels;
    if (reader.wide) {
      convert_wide_row(rows[y], reader, grey, width, channels, to);
    } else {
      convert_row(rows[y], reader.channels, width, channels, to);
    }
  }
  return image;
}

namespace {

struct PngWriter : Job {
  PngWriter() {
    png = png_create_write_struct(PNG_LIBPNG_VER_STRING, static_cast<Job*>(this), on_error, on_warning);
    info = png != nullptr ? png_create_info_struct(png) : nullptr;
    if (info == nullptr) {
      png_destroy_write_struct(&png, nullptr);
      throw std::bad_alloc();
    }
  }
  ~PngWriter() { png_destroy_write_struct(&png, &info); }
  PngWriter(const PngWriter&) = delete;
  PngWriter& operator=(const PngWriter&) = delete;
};

// Jumps.
bool write_rows(Job& job, const Image& image, png_bytepp rows) {
  if (setjmp(png_jmpbuf(job.png)) != 0) return false;
  png_set_write_fn(job.png, &job, on_write, on_flush);
  png_set_IHDR(job.png, job.info, static_cast<png_uint_32>(image.width), static_cast<png_uint_32>(image.height), 8,
               image.channels == 4 ? PNG_COLOR_TYPE_RGB_ALPHA : PNG_COLOR_TYPE_RGB, PNG_INTERLACE_NONE,
               PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  png_write_info(job.png, job.info);
  png_write_image(job.png, rows);
  png_write_end(job.png, nullptr);
  return true;
}

}  // namespace

std::vector<std::byte> encode_png(const Image& image) {
  const std::size_t row_bytes = static_cast<std::size_t>(image.width) * static_cast<std::size_t>(image.channels);
  const auto height = static_cast<std::size_t>(image.height);
  if ((image.channels != 3 && image.channels != 4) || image.pixels.size() != row_bytes * height || row_bytes == 0) {
    throw Error(ErrorKind::internal, format("an image of {}x{} and {} channels was given {} bytes", image.width,
                                            image.height, image.channels, image.pixels.size()));
  }
  // libpng takes rows that it might change; it does so only for transformations, of which none is set.
  auto* first = const_cast<png_bytep>(image.pixels.data());
  std::vector<png_bytep> rows(height);
  for (std::size_t y = 0; y < height; ++y) rows[y] = first + y * row_bytes;
  std::vector<std::byte> bytes;
  PngWriter writer;
  writer.output = &bytes;
  if (!write_rows(writer, image, rows.data())) refuse_job(writer);
  return bytes;
}

}  // namespace lathe::io::formats
