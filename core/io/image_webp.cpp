#include <algorithm>
#include <memory>

#include <webp/decode.h>
#include <webp/demux.h>

#include "core/base/error.h"
#include "core/base/format.h"
#include "core/io/image_formats.h"

namespace lathe::io::formats {

namespace {

const std::uint8_t* data(Bytes file) {
  return reinterpret_cast<const std::uint8_t*>(file.data());
}

[[noreturn]] void refuse_status(VP8StatusCode status) {
  switch (status) {
    case VP8_STATUS_OUT_OF_MEMORY:  // newer releases also say this of alpha data that they cannot read
      refuse("it is damaged, or memory is short");
    case VP8_STATUS_NOT_ENOUGH_DATA:
    case VP8_STATUS_SUSPENDED:
      refuse_cut("the picture's data end too early");
    case VP8_STATUS_UNSUPPORTED_FEATURE:
      refuse("it uses a feature that libwebp does not support");
    default:
      refuse(format("it is damaged (libwebp's status {})", static_cast<std::int32_t>(status)));
  }
}

WebPBitstreamFeatures features_of(Bytes file) {
  WebPBitstreamFeatures features;
  const VP8StatusCode status = WebPGetFeatures(data(file), file.size(), &features);
  if (status != VP8_STATUS_OK) refuse_status(status);
  check_size(features.width, features.height);
  return features;
}

struct DeleteAnimation {
  void operator()(WebPAnimDecoder* decoder) const { WebPAnimDecoderDelete(decoder); }
};

// The first frame may cover a part of the canvas only; the decoder sets it into a transparent one.
void decode_first_frame(Bytes file, Image& image) {
  const WebPData content = {data(file), file.size()};
  WebPAnimDecoderOptions options;
  if (WebPAnimDecoderOptionsInit(&options) == 0) refuse("libwebpdemux has another version than its headers");
  options.color_mode = MODE_RGBA;
  const std::unique_ptr<WebPAnimDecoder, DeleteAnimation> decoder(WebPAnimDecoderNew(&content, &options));
  std::uint8_t* canvas = nullptr;
  int time = 0;
  if (!decoder || WebPAnimDecoderGetNext(decoder.get(), &canvas, &time) == 0) refuse("its first frame is damaged");
  const std::size_t pixels = image.pixels.size() / static_cast<std::size_t>(image.channels);
  for (std::size_t i = 0; i < pixels; ++i) {
    std::copy_n(canvas + 4 * i, image.channels, image.pixels.data() + i * static_cast<std::size_t>(image.channels));
  }
}

void decode_still(Bytes file, Image& image) {
  WebPDecoderConfig config;
  if (WebPInitDecoderConfig(&config) == 0) refuse("libwebp has another version than its headers");
  config.output.colorspace = image.channels == 4 ? MODE_RGBA : MODE_RGB;
  config.output.is_external_memory = 1;
  config.output.u.RGBA.rgba = image.pixels.data();
  config.output.u.RGBA.stride = image.width * image.channels;
  config.output.u.RGBA.size = image.pixels.size();
  const VP8StatusCode status = WebPDecode(data(file), file.size(), &config);
  WebPFreeDecBuffer(&config.output);
  if (status != VP8_STATUS_OK) refuse_status(status);
}

}  // namespace

bool is_webp(Bytes file) {
  return starts_with(file, "RIFF") && starts_with(file, "WEBP", 8);
}

ImageProbe probe_webp(Bytes file) {
  const WebPBitstreamFeatures features = features_of(file);
  const bool alpha = features.has_alpha != 0;
  return {features.width, features.height, ImageFormat::webp, alpha ? ColourMode::rgba : ColourMode::rgb, 8, alpha};
}

Image decode_webp(Bytes file, bool want_alpha) {
  const std::uint64_t claimed = std::uint64_t{little_endian(file, 4, 4)} + 8;
  if (claimed > file.size()) refuse_cut(format("expected {} bytes, found {}", claimed, file.size()));
  const WebPBitstreamFeatures features = features_of(file);
  Image image = blank(features.width, features.height, want_alpha);
  if (features.has_animation != 0) {
    decode_first_frame(file, image);
  } else {
    decode_still(file, image);
  }
  return image;
}

}  // namespace lathe::io::formats
