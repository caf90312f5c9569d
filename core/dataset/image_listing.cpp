// The first half of ImageFinder: what folders and metadata files name.

#include <algorithm>
#include <map>
#include <system_error>

#include "core/base/error.h"
#include "core/base/format.h"
#include "core/base/paths.h"
#include "core/dataset/cache_info.h"
#include "core/dataset/cache_names.h"
#include "core/dataset/image_finder.h"
#include "core/dataset/metadata_file.h"

namespace lathe::dataset {

namespace fs = std::filesystem;

namespace {

constexpr TextId kNoFolder = LATHE_TEXT("dataset.no_folder", "image_dir '{}' is not a folder; the subset is skipped");
constexpr TextId kControlCharacter =
    LATHE_TEXT("dataset.control_character",
               "image_dir '{}' holds a control character ({}): probably '\\' was read as the start of an escape; write "
               "'\\\\', or '/', or put the path in single quotes");
constexpr TextId kNoImages = LATHE_TEXT("dataset.no_images", "no images in {}; the subset is skipped");
constexpr TextId kImagesBelow =
    LATHE_TEXT("dataset.images_below",
               "no images directly in {}, but {} in its subfolders ({}); point image_dir at those: subfolders are not "
               "read");
constexpr TextId kSubfolders =
    LATHE_TEXT("dataset.subfolders", "subfolders of {} are not read; they hold {} images ({})");
constexpr TextId kUnseen =
    LATHE_TEXT("dataset.unseen_by_reference",
               "{} images of {} are used here but not by the reference, which wants the ending in all-lower or "
               "all-upper case: {}");
constexpr TextId kUnsupported = LATHE_TEXT(
    "dataset.unsupported", "{} pictures of {} have a format that cannot be read (PNG, JPEG, WebP and BMP can): {}");
constexpr TextId kUnsupportedFile = LATHE_TEXT("dataset.skipped.unsupported", "pictures of this format cannot be read");
constexpr TextId kNotUtf8 = LATHE_TEXT(
    "dataset.not_utf8", "{} images of {} have names that are not valid UTF-8 and are skipped; rename them: {}");
constexpr TextId kNotUtf8File = LATHE_TEXT("dataset.skipped.not_utf8", "the name is not valid UTF-8");
constexpr TextId kLeftovers = LATHE_TEXT("dataset.leftovers", "{} hidden or system files of {} are ignored: {}");
constexpr TextId kUnknown = LATHE_TEXT("dataset.unknown_files", "{} other files of {} are left alone ({})");
constexpr TextId kSameStem =
    LATHE_TEXT("dataset.same_stem",
               "images of {} differ only in their ending and share one caption file: {}; here each gets its own cache");
constexpr TextId kUnreadable = LATHE_TEXT("dataset.file_unreadable", "{}");
constexpr TextId kNoImageDir =
    LATHE_TEXT("dataset.metadata_no_image_dir",
               "{} entries of {} have a relative path, and the subset has no image_dir to look in; set image_dir: {}");
constexpr TextId kEmptyMetadata = LATHE_TEXT("dataset.metadata_empty", "{} lists no images; the subset is skipped");

std::string control_character(const std::string& path) {
  for (const char c : path) {
    if (c == '\t') return "TAB";
    if (c == '\n') return "line feed";
    if (static_cast<unsigned char>(c) < 0x20) return format("0x{:02x}", static_cast<int>(c));
  }
  return "";
}

// Sizes that names of latent caches give, by stem, where the stem belongs to one image and one cache.
std::map<std::string, LatentCacheName> cached_sizes(const FolderListing& listing) {
  std::map<std::string, LatentCacheName> sizes;
  std::map<std::string, int> caches, images;
  for (const std::string& name : listing.latent_caches) {
    const auto parsed = parse_latent_cache_name(name);
    if (!parsed) continue;
    ++caches[parsed->stem];
    sizes.insert_or_assign(parsed->stem, *parsed);
  }
  for (const std::string& name : listing.images) ++images[split_extension(name).stem];
  std::erase_if(sizes, [&](const auto& entry) { return caches[entry.first] != 1 || images[entry.first] != 1; });
  return sizes;
}

// A cache that is older than its image may be of another picture.
bool is_newer(const fs::path& cache, const fs::path& image) {
  std::error_code error, other;
  const auto cache_time = fs::last_write_time(cache, error), image_time = fs::last_write_time(image, other);
  return !error && !other && cache_time >= image_time;
}

// ".ogg: 390, .dat: 4"
std::string by_extension(const std::vector<std::string>& names) {
  std::map<std::string, std::size_t> counts;
  for (const std::string& name : names) ++counts[split_extension(name).extension];
  std::vector<std::string> kinds;
  for (const auto& [extension, count] : counts) {
    kinds.push_back(format("{}: {}", extension.empty() ? "no ending" : extension, count));
  }
  return some_names(kinds);
}

std::string of_subfolders(const FolderListing& listing) {
  std::vector<std::string> names;
  for (const auto& [name, count] : listing.subfolders) names.push_back(format("{}: {}", name, count));
  return some_names(names);
}

std::size_t images_below(const FolderListing& listing) {
  std::size_t count = 0;
  for (const auto& [name, images] : listing.subfolders) count += images;
  return count;
}

}  // namespace

std::vector<Candidate> ImageFinder::list(config::DatasetKind kind, const config::SubsetConfig& subset) {
  return kind == config::DatasetKind::metadata ? list_metadata_subset(subset) : list_folder_subset(subset);
}

std::vector<Candidate> ImageFinder::list_folder_subset(const config::SubsetConfig& subset) {
  const fs::path folder = from_utf8(subset.image_dir);
  std::error_code ignored;
  if (!fs::is_directory(folder, ignored)) {
    const std::string control = control_character(subset.image_dir);
    findings_.warning({"image_dir"}, control.empty() ? message(kNoFolder, subset.image_dir)
                                                     : message(kControlCharacter, subset.image_dir, control));
    return {};
  }
  std::vector<Candidate> candidates;
  if (subset.cache_info) {
    try {
      if (const auto entries = read_cache_info(folder)) {
        for (const CachedInfo& entry : *entries) {
          candidates.push_back({entry.key, from_utf8(entry.key), entry.caption, entry.size, true, ""});
        }
        return candidates;
      }
    } catch (const Error& error) {
      findings_.error({"cache_info"}, message(kUnreadable, error.message()));
      return {};
    }
  }
  FolderListing listing;
  try {
    listing = list_folder(folder, dotted_extension(subset));
  } catch (const Error& error) {
    findings_.error({"image_dir"}, message(kUnreadable, error.message()));
    return {};
  }
  std::erase_if(listing.subfolders, [&](const auto& below) {
    return image_dirs_.contains(from_utf8(join_path(subset.image_dir, below.first) + "/").lexically_normal());
  });
  if (reported_.insert(subset.image_dir).second) {
    report_listing(subset, listing);
    report_same_stems(subset, listing);
  }
  const auto sizes = cached_sizes(listing);
  for (const std::string& name : listing.images) {
    Candidate& candidate = candidates.emplace_back();
    candidate.key = join_path(subset.image_dir, name);
    candidate.path = from_utf8(candidate.key);
    const auto cached = sizes.find(split_extension(name).stem);
    if (cached == sizes.end()) continue;
    if (!is_newer(from_utf8(latent_cache_name(candidate.key, cached->second.size)), candidate.path)) continue;
    candidate.size = cached->second.size;
    candidate.size_is_final = true;
  }
  return candidates;
}

void ImageFinder::report_listing(const config::SubsetConfig& subset, const FolderListing& listing) {
  const std::string& place = subset.image_dir;
  if (listing.images.empty()) {
    findings_.warning({"image_dir"}, listing.subfolders.empty()
                                         ? message(kNoImages, place)
                                         : message(kImagesBelow, place, images_below(listing), of_subfolders(listing)));
  } else if (!listing.subfolders.empty()) {
    findings_.note({"image_dir"}, message(kSubfolders, place, images_below(listing), of_subfolders(listing)));
  }
  const auto say = [&](config::Severity severity, TextId text, const std::vector<std::string>& names) {
    if (names.empty()) return;
    findings_.add({.severity = severity, .message = message(text, names.size(), place, some_names(names))});
  };
  say(config::Severity::note, kUnseen, listing.unseen_by_reference);
  say(config::Severity::warning, kUnsupported, listing.unsupported);
  say(config::Severity::warning, kNotUtf8, listing.not_utf8);
  say(config::Severity::note, kLeftovers, listing.leftovers);
  if (!listing.unknown.empty()) {
    findings_.note({}, message(kUnknown, listing.unknown.size(), place, by_extension(listing.unknown)));
  }
  for (const std::string& name : listing.unsupported) {
    skip(from_utf8(join_path(place, name)), message(kUnsupportedFile));
  }
  for (const std::string& name : listing.not_utf8) skip(from_utf8(join_path(place, name)), message(kNotUtf8File));
}

void ImageFinder::report_same_stems(const config::SubsetConfig& subset, const FolderListing& listing) {
  std::map<std::string, std::vector<std::string>> by_stem;
  for (const std::string& name : listing.images) by_stem[split_extension(name).stem].push_back(name);
  std::vector<std::string> groups;
  for (const auto& [stem, names] : by_stem) {
    if (names.size() > 1) groups.push_back(join(names, " + "));
  }
  if (!groups.empty()) findings_.warning({}, message(kSameStem, subset.image_dir, some_names(groups)));
}

std::vector<Candidate> ImageFinder::list_metadata_subset(const config::SubsetConfig& subset) {
  std::vector<MetadataEntry> entries;
  try {
    entries = read_metadata_file(from_utf8(subset.metadata_file), findings_);
  } catch (const Error& error) {
    findings_.error({"metadata_file"}, message(kUnreadable, error.message()));
    return {};
  }
  if (entries.empty()) findings_.warning({"metadata_file"}, message(kEmptyMetadata, subset.metadata_file));

  std::vector<Candidate> candidates;
  std::vector<std::string> homeless;
  for (const MetadataEntry& entry : entries) {
    const bool absolute = from_utf8(entry.key).is_absolute();
    if (!absolute && subset.image_dir.empty()) {
      homeless.push_back(entry.key);
      continue;
    }
    Candidate& candidate = candidates.emplace_back();
    candidate.key = absolute ? entry.key : join_path(subset.image_dir, entry.key);
    candidate.path = from_utf8(candidate.key);
    candidate.caption = compose_caption(entry, subset.enable_wildcard, subset.caption_separator);
    candidate.size = entry.size;
    candidate.tags = entry.tags;
  }
  if (!homeless.empty()) {
    findings_.error({"image_dir"}, message(kNoImageDir, homeless.size(), subset.metadata_file, some_names(homeless)));
  }
  return candidates;
}

}  // namespace lathe::dataset
