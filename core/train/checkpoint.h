#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

#include "core/io/safetensors.h"
#include "core/models/common/tensor_file.h"

namespace lathe::train {

struct SaveOptions {
  std::optional<at::ScalarType> dtype;  // save_precision: casts every tensor, alpha too; unset: as they are
  int retries = 0;                      // save_retries: after an error of the file system
  double retry_seconds = 1.0;           // before the first retry; doubled each time
};

struct SavedFile {
  std::uint64_t bytes = 0;
  double seconds = 0.0;
};

// Writes an adapter's tensors (LoraNetwork::state()) as safetensors, with sshs_model_hash and sshs_legacy_hash added to
// `metadata`: beside the target, re-opened and compared, renamed. `on_retry(error, attempt)` is told of each failure
// that is tried again (from 1). Error(file) or Error(resource) once the retries are used up; whatever was at `path`
// before is whole then.
SavedFile save_adapter(const std::filesystem::path& path, const models::NamedTensors& tensors, io::Metadata metadata,
                       const SaveOptions& options,
                       const std::function<void(const std::string& error, int attempt)>& on_retry = {});

// Removes an adapter that newer ones replaced; that it is gone already is no error, that it cannot be removed is told
// by the returned text.
std::string remove_outdated(const std::filesystem::path& path);

}  // namespace lathe::train
