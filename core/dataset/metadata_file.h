#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/config/diagnostic.h"
#include "core/dataset/manifest.h"

namespace lathe::dataset {

// One image of a metadata file.
struct MetadataEntry {
  std::string key;  // path of the image, relative to image_dir or absolute
  std::string caption;
  std::string tags;
  std::optional<Size> size;  // image_size
};

// A .jsonl file (one object a line with image_path, caption, tags, image_size) or a .json file (one object: key →
// caption, tags, image_size), in the order in which the reference visits it: longer keys first, else as in the file.
// Other members are left alone; of equal keys the last counts. What is wrong goes into `findings` with its line, and
// the entry is left out. Throws Error(file) where the file cannot be read.
std::vector<MetadataEntry> read_metadata_file(const std::filesystem::path& path, config::Findings& findings);

// The caption that is trained: caption and tags joined by `separator`. With wildcards each line that is not blank gets
// the tags, and line feeds in them become the separator. (The reference loses the tags of a blank caption there; here
// they are the caption.)
std::string compose_caption(const MetadataEntry& entry, bool enable_wildcard, std::string_view separator);

}  // namespace lathe::dataset
