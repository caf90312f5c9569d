#include "core/train/checkpoint.h"

#include <chrono>
#include <thread>

#include <ATen/ATen.h>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/base/format.h"
#include "core/models/common/state_dict.h"

namespace lathe::train {

namespace {

// Tensors as a file takes them: on the CPU, dense, in the type they are saved in.
class Package {
 public:
  Package(const models::NamedTensors& tensors, std::optional<at::ScalarType> dtype) {
    for (const auto& [name, tensor] : tensors) {
      const at::Tensor& kept =
          dense_.emplace_back(tensor.detach().to(at::kCPU, dtype.value_or(tensor.scalar_type())).contiguous());
      const auto* bytes = static_cast<const std::byte*>(kept.const_data_ptr());
      items_.push_back({name, models::file_dtype(kept.scalar_type()), kept.sizes().vec(), {bytes, kept.nbytes()}});
    }
  }
  const std::vector<io::TensorToWrite>& items() const { return items_; }

 private:
  std::vector<at::Tensor> dense_;
  std::vector<io::TensorToWrite> items_;  // views into dense_
};

bool worth_a_retry(const Error& error) {
  return error.kind() == ErrorKind::file || error.kind() == ErrorKind::resource;
}

}  // namespace

SavedFile save_adapter(const std::filesystem::path& path, const models::NamedTensors& tensors, io::Metadata metadata,
                       const SaveOptions& options, const std::function<void(const std::string&, int)>& on_retry) {
  const Stopwatch watch;
  const Package package(tensors, options.dtype);
  metadata["sshs_legacy_hash"] = io::safetensors_legacy_hash(package.items(), metadata);
  metadata["sshs_model_hash"] = io::safetensors_data_hash(package.items());
  double wait = options.retry_seconds;
  for (int attempt = 1;; ++attempt) {
    try {
      io::write_safetensors(path, package.items(), metadata);
      return {std::filesystem::file_size(path), watch.seconds()};
    } catch (Error& error) {
      if (attempt > options.retries || !worth_a_retry(error)) {
        error.while_doing(format("saving the adapter {}", path));
        throw;
      }
      if (on_retry) on_retry(error.what(), attempt);
    }
    std::this_thread::sleep_for(std::chrono::duration<double>(wait));
    wait *= 2;
  }
}

std::string remove_outdated(const std::filesystem::path& path) {
  std::error_code error;
  std::filesystem::remove(path, error);
  return error ? format("{} could not be removed: {}", path, error.message()) : "";
}

}  // namespace lathe::train
