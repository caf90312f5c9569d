#include "core/dataset/image_finder.h"

#include <algorithm>
#include <system_error>

#include "core/base/error.h"
#include "core/base/format.h"
#include "core/base/paths.h"
#include "core/dataset/cache_info.h"
#include "core/dataset/cache_names.h"
#include "core/io/image_file.h"
#include "core/text/caption_files.h"

namespace lathe::dataset {

namespace fs = std::filesystem;

namespace {

constexpr TextId kCannotRead = LATHE_TEXT("dataset.skipped.broken", "{}");
constexpr TextId kMissing = LATHE_TEXT("dataset.skipped.missing", "the file is not there");
constexpr TextId kCacheInfoNotWritten =
    LATHE_TEXT("dataset.cache_info_not_written", "metadata_cache.json cannot be written: {}");

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
constexpr std::string_view kUsualExtensions[] = {".txt", ".caption"};

// The usual ending of a caption file that lies beside the image although another is asked for, or "".
std::string other_caption(const std::string& key, const std::string& wanted) {
  for (const std::string_view extension : kUsualExtensions) {
    std::error_code ignored;
    const fs::path path = from_utf8(split_extension(key).stem + std::string(extension));
    if (extension != wanted && fs::is_regular_file(path, ignored)) return std::string(extension);
  }
  return "";
}

}  // namespace

ImageFinder::ImageFinder(const config::DataConfig& config, config::Findings& findings,
                         std::vector<SkippedFile>& skipped)
    : findings_(findings), skipped_(skipped) {
  for (const config::DatasetConfig& dataset : config.datasets) {
    for (const config::SubsetConfig& subset : dataset.subsets) {
      image_dirs_.insert(from_utf8(join_path(subset.image_dir, "")).lexically_normal());
    }
  }
}

std::vector<FoundImage> ImageFinder::read(config::DatasetKind kind, const config::SubsetConfig& subset,
                                          const std::vector<Candidate>& candidates, const std::function<void()>& tick) {
  const std::string place = kind == config::DatasetKind::metadata ? subset.metadata_file : subset.image_dir;
  const text::CaptionSource source{subset.caption_extension, subset.enable_wildcard, subset.class_tokens.value_or("")};
  ProbeReport report(subset);
  std::vector<FoundImage> found;
  for (const Candidate& candidate : candidates) {
    tick();
    const std::optional<Size> size = size_of(candidate, report);
    if (!size) continue;
    const std::string name = to_utf8(candidate.path.filename());
    FoundImage image{candidate.key, candidate.path, "", {}, *size, candidate.tags};
    if (candidate.caption) {
      image.caption = *candidate.caption;
    } else {
      try {
        const text::ImageCaption caption = text::read_caption(candidate.key, source);
        image.caption = caption.text;
        if (caption.file) image.caption_file = from_utf8(*caption.file);
        if (!caption.file) report.no_caption(name, other_caption(candidate.key, dotted_extension(subset)));
        if (caption.file && caption.text.starts_with(kByteOrderMark)) report.byte_order_mark(*caption.file);
      } catch (const Error& error) {
        report.bad_caption(error.message());
      }
    }
    found.push_back(std::move(image));
  }
  if (reported_.insert("captions of " + place + '\n' + subset.caption_extension).second) {
    report.add_to(findings_, place, candidates.size());
  }
  if (subset.cache_info && kind == config::DatasetKind::folder) keep_cache_info(subset, found);
  return found;
}

std::optional<Size> ImageFinder::size_of(const Candidate& candidate, ProbeReport& report) {
  const std::string path = to_utf8(candidate.path), name = to_utf8(candidate.path.filename());
  if (const auto known = probed_.find(path); known != probed_.end()) return known->second;
  std::optional<Size> size = candidate.size;
  std::error_code ignored;
  if (!fs::exists(candidate.path, ignored)) {
    size.reset();
    report.unreadable(format("{} ({})", name, message(kMissing).english()));
    skip(candidate.path, message(kMissing));
  } else if (!size || !candidate.size_is_final) {
    try {
      const io::ImageProbe probe = io::probe_image(candidate.path);
      const Size own{probe.width, probe.height};
      report.image(name, probe);
      if (size && *size != own) report.other_size(name);
      size = own;
    } catch (const Error& error) {
      size.reset();
      report.unreadable(error.message());
      skip(candidate.path, message(kCannotRead, error.message()));
    }
  }
  probed_.emplace(path, size);
  return size;
}

void ImageFinder::skip(const fs::path& path, Message reason) {
  skipped_.push_back({path, std::move(reason)});
}

void ImageFinder::keep_cache_info(const config::SubsetConfig& subset, const std::vector<FoundImage>& images) {
  const fs::path folder = from_utf8(subset.image_dir);
  std::error_code ignored;
  if (fs::exists(folder / kCacheInfoName, ignored)) return;
  std::vector<CachedInfo> entries;
  for (const FoundImage& image : images) entries.push_back({image.key, image.caption, image.size});
  try {
    write_cache_info(folder, entries);
  } catch (const Error& error) {
    findings_.warning({"cache_info"}, message(kCacheInfoNotWritten, error.message()));
  }
}

std::string join_path(const std::string& folder, const std::string& name) {
  const bool ends = folder.empty() || folder.back() == '/' || folder.back() == fs::path::preferred_separator;
  return ends ? folder + name : folder + "/" + name;
}

std::string dotted_extension(const config::SubsetConfig& subset) {
  const std::string& extension = subset.caption_extension;
  return extension.empty() || extension.starts_with('.') ? extension : "." + extension;
}

std::string tag_folder(config::DatasetKind kind, const config::SubsetConfig& subset) {
  std::string path = kind == config::DatasetKind::metadata ? subset.metadata_file : subset.image_dir;
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return to_utf8(from_utf8(path).filename());
}

}  // namespace lathe::dataset
