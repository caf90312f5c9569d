#include "core/dataset/folder_listing.h"

#include <algorithm>
#include <array>
#include <span>
#include <system_error>

#include "core/base/error.h"
#include "core/base/format.h"
#include "core/base/paths.h"
#include "core/io/image_file.h"
#include "core/text/utf8.h"

namespace lathe::dataset {

namespace fs = std::filesystem;

namespace {

// Pictures of formats that no reader here knows.
constexpr std::array<std::string_view, 16> kUnsupported = {".avif", ".jxl", ".gif", ".tif", ".tiff", ".heic",
                                                           ".heif", ".jp2", ".tga", ".psd", ".exr",  ".hdr",
                                                           ".ppm",  ".svg", ".ico", ".dng"};
// What lies beside pictures without being one: captions, caches, settings.
constexpr std::array<std::string_view, 10> kCompanions = {".txt",   ".caption", ".npz",  ".npy",         ".json",
                                                          ".jsonl", ".toml",    ".yaml", ".safetensors", ".md"};
constexpr std::array<std::string_view, 5> kLeftovers = {"thumbs.db", "ehthumbs.db", "desktop.ini", "__macosx",
                                                        "@eadir"};
constexpr std::string_view kLatentCacheEnd = "_anima.npz";

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return result;
}

bool contains(std::span<const std::string_view> names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

bool is_leftover(std::string_view name) {
  return name.starts_with('.') || contains(kLeftovers, lower(name));
}

std::string with_escapes(std::string_view name) {
  std::string result;
  for (std::size_t at = 0; at < name.size();) {
    const text::CodePoint point = text::decode(name, at);
    const bool bad = point.value == 0xFFFD && point.size == 1;
    result += bad ? format("\\x{:02x}", static_cast<unsigned>(static_cast<unsigned char>(name[at])))
                  : std::string(name.substr(at, point.size));
    at += point.size;
  }
  return result;
}

std::size_t count_images(const fs::path& folder) {
  std::size_t count = 0;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    const std::string name = to_utf8(entry->path().filename());
    if (!is_leftover(name) && is_image_name(name)) ++count;
  }
  return count;
}

void sort_in(FolderListing& listing, const fs::directory_entry& entry, std::string_view caption_extension) {
  const std::string name = to_utf8(entry.path().filename());
  if (is_leftover(name)) {
    listing.leftovers.push_back(name);
    return;
  }
  if (text::first_invalid_utf8(name)) {
    if (is_image_name(name)) listing.not_utf8.push_back(with_escapes(name));
    return;
  }
  std::error_code ignored;
  if (entry.is_directory(ignored)) {
    if (const std::size_t count = count_images(entry.path()); count > 0) listing.subfolders.emplace_back(name, count);
    return;
  }
  const std::string extension = split_extension(name).extension;
  if (is_image_name(name)) {
    listing.images.push_back(name);
    if (!contains(io::image_extensions(), extension)) listing.unseen_by_reference.push_back(name);
  } else if (contains(kUnsupported, lower(extension))) {
    listing.unsupported.push_back(name);
  } else if (name.ends_with(kLatentCacheEnd)) {
    listing.latent_caches.push_back(name);
  } else if (!contains(kCompanions, lower(extension)) && !name.ends_with(caption_extension)) {
    listing.unknown.push_back(name);
  }
}

}  // namespace

bool is_image_name(std::string_view name) {
  const std::string extension = lower(split_extension(name).extension);
  return extension == ".jfif" || contains(io::image_extensions(), extension);
}

FolderListing list_folder(const fs::path& folder, std::string_view caption_extension) {
  FolderListing listing;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    sort_in(listing, *entry, caption_extension);
  }
  if (error) throw Error(ErrorKind::file, format("cannot read the folder {}: {}", folder, error.message()));
  // Bytes of UTF-8 compare as code points do.
  for (auto* names : {&listing.images, &listing.unseen_by_reference, &listing.unsupported, &listing.unknown,
                      &listing.leftovers, &listing.not_utf8, &listing.latent_caches}) {
    std::ranges::sort(*names);
  }
  std::ranges::sort(listing.subfolders);
  return listing;
}

std::string some_names(const std::vector<std::string>& names, std::size_t most) {
  const std::size_t shown = names.size() > most ? most : names.size();
  const std::string text = join({names.begin(), names.begin() + static_cast<std::ptrdiff_t>(shown)}, ", ");
  return shown < names.size() ? format("{} and {} more", text, names.size() - shown) : text;
}

}  // namespace lathe::dataset
