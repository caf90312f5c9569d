#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lathe::dataset {

// What lies directly in one image folder, by file name (UTF-8). Names are sorted by code point, as the reference sorts.
struct FolderListing {
  std::vector<std::string> images;
  // Those of `images` that the reference would not see: it looks for .png .jpg .jpeg .webp .bmp in all-lower or
  // all-upper case.
  std::vector<std::string> unseen_by_reference;
  std::vector<std::string> unsupported;    // pictures of a format that cannot be read: .avif, .jxl, .gif …
  std::vector<std::string> unknown;        // neither pictures nor files that go with them
  std::vector<std::string> leftovers;      // hidden files, Thumbs.db, __MACOSX …: of systems and archives
  std::vector<std::string> not_utf8;       // their names cannot stand in any file of ours; bad bytes shown as \xNN
  std::vector<std::string> latent_caches;  // *_anima.npz
  // Folders with images directly in them, and how many.
  std::vector<std::pair<std::string, std::size_t>> subfolders;
};

// Throws Error(file) where the folder cannot be read. `caption_extension` (with its dot) names a file that goes with
// pictures, as .txt, .caption, .npz, .json and others do anyway.
FolderListing list_folder(const std::filesystem::path& folder, std::string_view caption_extension);

// Whether a file of this name is taken for an image: one of io::image_extensions() in any case, or .jfif.
bool is_image_name(std::string_view name);

// "a.png, b.png, c.png and 12 more"
std::string some_names(const std::vector<std::string>& names, std::size_t most = 5);

}  // namespace lathe::dataset
