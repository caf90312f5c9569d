#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "core/base/shared_object.h"
#include "core/compile/toolchain/kernel_cache.h"

namespace lathe::toolchain {

// NVIDIA's run-time compiler, opened by full path; it needs no card, no driver and no CUDA toolkit.
class Nvrtc {
 public:
  // Looks in $LATHE_NVRTC_DIR (a folder), then in `folders`, then where the system's loader looks. Null where none is
  // found or it cannot be loaded; `why` then says what was tried.
  static std::shared_ptr<Nvrtc> open(const std::vector<std::filesystem::path>& folders, std::string* why = nullptr);

  int major() const { return major_; }
  int minor() const { return minor_; }
  const std::filesystem::path& path() const { return path_; }

  // CUDA C++ without includes → cubin for compute capability `architecture` (80, 89, 90, 120 …). Error(format) with the
  // compiler's first lines.
  std::string build(const std::string& source, int architecture) const;

 private:
  struct Functions;
  Nvrtc(std::filesystem::path path, std::vector<SharedObject> libraries);

  std::filesystem::path path_;
  std::vector<SharedObject> libraries_;  // the builtins first: the compiler itself looks for them by bare name
  std::shared_ptr<Functions> functions_;
  int major_ = 0, minor_ = 0;
};

struct BuiltCubin {
  std::string bytes;
  bool from_cache = false;
  double seconds = 0.0;
};
// As Nvrtc::build, through the kernel cache: keyed by source, architecture and NVRTC's version.
BuiltCubin build_cubin(const std::string& source, int architecture, const Nvrtc& nvrtc, KernelCache& cache);

}  // namespace lathe::toolchain
