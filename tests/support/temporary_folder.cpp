#include "tests/support/temporary_folder.h"

#include <fstream>
#include <random>
#include <system_error>

#include "core/base/format.h"
#include "core/base/paths.h"

namespace lathe::testing {

TemporaryFolder::TemporaryFolder() {
  std::random_device random;
  do {
    path_ = std::filesystem::temp_directory_path() / format("lathe-test-{:08x}{:08x}", random(), random());
  } while (!std::filesystem::create_directory(path_));
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::filesystem::path TemporaryFolder::write(std::string_view relative, std::string_view bytes) const {
  const std::filesystem::path target = path_ / from_utf8(relative);
  std::filesystem::create_directories(target.parent_path());
  std::ofstream(target, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  return target;
}

}  // namespace lathe::testing
