#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lathe::text {

// How a subset finds the captions beside its images.
struct CaptionSource {
  std::string caption_extension = ".caption";  // a missing leading dot is added
  bool enable_wildcard = false;                // keep all lines, one of them is chosen later
  std::string class_tokens;                    // the caption of images without a file
};

struct ImageCaption {
  std::string text;
  std::optional<std::string> file;  // where it was read; nothing: no file, `text` is class_tokens
};

// Where the caption of an image may be, in order of preference: beside it under its name, and, where the path without
// extension has five or more parts between '_', under the name without the last four (a face detector's
// "_cx_cy_w_h"). Paths are UTF-8 and keep their prefix.
std::vector<std::string> caption_candidates(std::string_view image_path, std::string_view caption_extension);

// The caption in the bytes of a caption file: its first line, or with wildcards all lines that are not blank, joined by
// line feeds; white space at both ends of a line goes, a byte order mark stays, as in the reference. Throws
// Error(dataset) that names `path` where the file has no line or is not valid UTF-8.
std::string caption_of_bytes(std::string_view bytes, bool enable_wildcard, std::string_view path);

// Reads the first candidate that is a file. Throws as caption_of_bytes, and Error(file) where it cannot be read.
ImageCaption read_caption(std::string_view image_path, const CaptionSource& source);

}  // namespace lathe::text
