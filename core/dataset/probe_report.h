#pragma once

#include <string>
#include <vector>

#include "core/config/dataset_config.h"
#include "core/config/diagnostic.h"
#include "core/io/image_file.h"

namespace lathe::dataset {

// Collects what is worth saying about the images and captions of one subset, and says it in one finding a kind.
class ProbeReport {
 public:
  explicit ProbeReport(const config::SubsetConfig& subset) : subset_(subset) {}

  void image(const std::string& name, const io::ImageProbe& probe);
  void other_size(const std::string& name) { other_size_.push_back(name); }
  void unreadable(const std::string& name_and_reason) { unreadable_.push_back(name_and_reason); }
  // `has_other`: a caption file with another usual ending lies beside the image.
  void no_caption(const std::string& name, const std::string& other_extension);
  void bad_caption(const std::string& reason) { bad_captions_.push_back(reason); }
  void byte_order_mark(const std::string& caption_file) { byte_order_marks_.push_back(caption_file); }

  // `place`: the folder or metadata file; `images`: all that were looked at.
  void add_to(config::Findings& findings, const std::string& place, std::size_t images) const;

 private:
  void add_captions_to(config::Findings& findings, const std::string& place, std::size_t images) const;

  const config::SubsetConfig& subset_;
  std::vector<std::string> clipped_grey_, sixteen_bit_, cmyk_, with_alpha_, other_size_, unreadable_;
  std::vector<std::string> no_caption_, bad_captions_, byte_order_marks_;
  std::string other_extension_;
  std::size_t with_other_extension_ = 0;
};

}  // namespace lathe::dataset
