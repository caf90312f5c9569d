#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/config/dataset_config.h"
#include "core/config/diagnostic.h"
#include "core/dataset/folder_listing.h"
#include "core/dataset/manifest.h"
#include "core/dataset/probe_report.h"

namespace lathe::dataset {

// An image that a subset names, before anything of it was opened.
struct Candidate {
  std::string key;
  std::filesystem::path path;
  std::optional<std::string> caption;  // from metadata or cache_info; else beside the image
  std::optional<Size> size;            // as said by cache_info, metadata or a latent cache's name
  bool size_is_final = false;          // cache_info and newer latent caches are believed, metadata is compared
  std::string tags;                    // of metadata
};

// One that can be trained on.
struct FoundImage {
  std::string key;
  std::filesystem::path path;
  std::string caption;
  std::filesystem::path caption_file;
  Size size;
  std::string tags;
};

// Finds the images of one subset after the other, and says what a person should know about them. A folder or an image
// that several datasets use is looked at, and spoken of, once.
class ImageFinder {
 public:
  // `config`: all datasets, so that a folder below another one is not taken for forgotten.
  ImageFinder(const config::DataConfig& config, config::Findings& findings, std::vector<SkippedFile>& skipped);

  // Lists folders and metadata; opens no image. Empty: the subset is skipped, and a finding says why.
  std::vector<Candidate> list(config::DatasetKind kind, const config::SubsetConfig& subset);

  // Reads captions and headers. Files that cannot be used are left out and listed. `tick` is called once a candidate.
  std::vector<FoundImage> read(config::DatasetKind kind, const config::SubsetConfig& subset,
                               const std::vector<Candidate>& candidates, const std::function<void()>& tick);

 private:
  std::vector<Candidate> list_folder_subset(const config::SubsetConfig& subset);
  std::vector<Candidate> list_metadata_subset(const config::SubsetConfig& subset);
  void report_listing(const config::SubsetConfig& subset, const FolderListing& listing);
  void report_same_stems(const config::SubsetConfig& subset, const FolderListing& listing);
  void keep_cache_info(const config::SubsetConfig& subset, const std::vector<FoundImage>& images);
  // The size in the file, or nothing: the file is skipped.
  std::optional<Size> size_of(const Candidate& candidate, ProbeReport& report);
  void skip(const std::filesystem::path& path, Message reason);

  config::Findings& findings_;
  std::vector<SkippedFile>& skipped_;
  std::set<std::filesystem::path> image_dirs_;                   // of all datasets
  std::set<std::string> reported_;                               // folders, and folders with their captions
  std::unordered_map<std::string, std::optional<Size>> probed_;  // by path; nothing: cannot be read
};

// os.path.join of the reference: one '/' between.
std::string join_path(const std::string& folder, const std::string& name);

// Caption files end in this: the subset's caption_extension with a leading dot.
std::string dotted_extension(const config::SubsetConfig& subset);

// Name of the folder (or metadata file) a subset stands for in tag counts.
std::string tag_folder(config::DatasetKind kind, const config::SubsetConfig& subset);

}  // namespace lathe::dataset
