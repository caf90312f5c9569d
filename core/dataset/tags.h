#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/dataset/manifest.h"

namespace lathe::dataset {

// Counts tags as the reference does for the adapter's metadata: captions cut at ",", stripped, lower-cased as Python
// lower-cases; empty ones are not counted.
class TagCounter {
 public:
  // Adds to the counts of `folder`, which appears even without a tag.
  void add(const std::string& folder, const std::vector<std::string_view>& captions);
  std::vector<FolderTags> take() { return std::move(folders_); }

 private:
  std::vector<FolderTags> folders_;
};

// Python's str.lower() of UTF-8 text.
std::string python_lower(std::string_view text);

}  // namespace lathe::dataset
