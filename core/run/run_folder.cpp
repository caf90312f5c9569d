#include "core/run/run_folder.h"

#include <system_error>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/base/format.h"
#include "core/base/paths.h"

namespace lathe::run {

namespace fs = std::filesystem;

RunFolder create_run_folder(const fs::path& output_dir, std::string_view output_name) {
  std::string name(output_name.empty() ? "last" : output_name);
  for (char& c : name) {
    if (std::string_view("<>:\"/\\|?*").find(c) != std::string_view::npos || static_cast<unsigned char>(c) < 32)
      c = '_';
  }
  const fs::path parent = output_dir / "lathe-runs";
  std::error_code failed;
  fs::create_directories(parent, failed);
  if (failed) {
    throw Error(ErrorKind::file,
                format("cannot create the folder '{}': {}; choose another output_dir", parent, failed.message()));
  }
  const std::string stem = name + "-" + local_time("%Y%m%d-%H%M%S");
  for (int attempt = 0; attempt < 1000; ++attempt) {
    const fs::path path = parent / from_utf8(attempt == 0 ? stem : format("{}-{}", stem, attempt));
    if (fs::create_directory(path, failed)) return {path};
    if (failed) break;
  }
  throw Error(ErrorKind::file, format("cannot create a run folder in '{}': {}", parent, failed.message()));
}

}  // namespace lathe::run
