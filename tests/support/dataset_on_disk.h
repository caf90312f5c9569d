#pragma once

#include <algorithm>
#include <filesystem>
#include <string>

#include "core/base/paths.h"
#include "core/dataset/manifest.h"
#include "core/io/image_file.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/test_main.h"

namespace lathe::testing {

inline void draw(const std::filesystem::path& path, int width, int height, int channels = 3) {
  std::filesystem::create_directories(path.parent_path());
  const auto bytes =
      static_cast<std::size_t>(width) * static_cast<std::size_t>(height) * static_cast<std::size_t>(channels);
  io::encode_png(path, {width, height, channels, std::vector<std::uint8_t>(bytes, 90)});
}

// A folder of images, one dataset on it, and what build_manifest makes of them.
class DatasetOnDisk {
 public:
  DatasetOnDisk() {
    dataset.width = dataset.height = 64;
    dataset.enable_bucket = true;
    dataset.min_bucket_reso = 32;
    dataset.max_bucket_reso = 128;
    dataset.bucket_reso_steps = 16;
    dataset.batch_size = 2;
  }

  config::SubsetConfig& subset(const std::string& name) {
    config::SubsetConfig& added = dataset.subsets.emplace_back();
    added.image_dir = to_utf8(folder.path() / name);
    added.caption_extension = ".txt";
    return added;
  }

  void image(const std::string& name, int width, int height, const char* caption = nullptr) {
    draw(folder.path() / lathe::from_utf8(name), width, height);
    if (caption != nullptr) folder.write(split_extension(name).stem + ".txt", caption);
  }

  dataset::Manifest build() {
    findings = {};
    PythonRandom random(1);
    return dataset::build_manifest({{dataset}, true}, settings, random, findings);
  }

  // The finding of this id, in English; "" where there is none.
  QString said(const std::string& id) const {
    const auto found = std::ranges::find(findings.all(), id, [](const auto& finding) { return finding.message.id; });
    return found == findings.all().end() ? QString() : QString::fromStdString(found->english());
  }
  config::Severity severity(const std::string& id) const {
    return std::ranges::find(findings.all(), id, [](const auto& finding) { return finding.message.id; })->severity;
  }

  TemporaryFolder folder;
  config::DatasetConfig dataset;
  config::Settings settings;
  config::Findings findings;
};

inline QString names(const dataset::Dataset& dataset) {
  QStringList all;
  for (const dataset::Image& image : dataset.images) all << QString::fromStdString(to_utf8(image.path.filename()));
  return all.join(' ');
}

}  // namespace lathe::testing
