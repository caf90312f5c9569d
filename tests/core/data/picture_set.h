#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "core/base/paths.h"
#include "core/dataset/buckets.h"
#include "core/dataset/manifest.h"
#include "core/io/image_file.h"
#include "tests/support/temporary_folder.h"

namespace lathe::testing {

// A picture whose every pixel differs from its neighbours and from those of other `seed`s.
inline io::Image picture(int width, int height, int channels, std::uint32_t seed) {
  io::Image image{width, height, channels, {}};
  std::uint32_t x = seed * 2654435761u + 1u;
  for (int i = 0; i < width * height * channels; ++i) {
    x = 1664525u * x + 1013904223u;
    image.pixels.push_back(static_cast<std::uint8_t>(x >> 24));
  }
  return image;
}

// A dataset over pictures that it draws itself, without the folder listing of a real one: 64×64 with buckets.
class PictureSet {
 public:
  PictureSet() {
    config::DatasetConfig& config = dataset.config;
    config.width = config.height = 64;
    config.enable_bucket = true;
    config.min_bucket_reso = 32;
    config.max_bucket_reso = 128;
    config.bucket_reso_steps = 16;
    config.subsets.resize(1);
    dataset.images.reserve(64);  // add() gives references
  }

  const std::filesystem::path& path() const { return folder_.path(); }
  config::SubsetConfig& subset() { return dataset.config.subsets.front(); }

  // Draws and registers `name`; its caches get the reference's names.
  dataset::Image& add(const std::string& name, int width, int height, int channels = 3) {
    const std::filesystem::path file = folder_.path() / from_utf8(name);
    std::filesystem::create_directories(file.parent_path());
    io::encode_png(file, picture(width, height, channels, static_cast<std::uint32_t>(dataset.images.size())));
    dataset::Image image;
    image.path = file;
    image.key = to_utf8(file);
    image.size = {width, height};
    image.fit = dataset::BucketChooser(dataset.config).fit(image.size);
    const std::string stem = split_extension(image.key).stem;
    image.latent_cache = from_utf8(format("{}_{:04d}x{:04d}_anima.npz", stem, width, height));
    image.text_cache = from_utf8(stem + "_anima_te.npz");
    image.caption = "a picture, called " + name;
    dataset.images.push_back(image);
    return dataset.images.back();
  }

  dataset::Dataset dataset;

 private:
  TemporaryFolder folder_;
};

}  // namespace lathe::testing
