#include "tests/support/golden.h"

#include <cstdlib>

#include "core/base/paths.h"

namespace lathe::testing {

namespace {
std::filesystem::path environment_path(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? from_utf8(value) : std::filesystem::path();
}
}  // namespace

std::filesystem::path data_folder() {
  const std::filesystem::path source = environment_path("LATHE_SOURCE_DIR");
  return (source.empty() ? resource_folder().parent_path() : source) / "tests" / "data";
}

std::filesystem::path golden_folder() {
  const std::filesystem::path chosen = environment_path("LATHE_GOLDEN_DIR");
  return chosen.empty() ? data_folder() / "golden" : chosen;
}

bool has_golden(const std::string& relative) {
  return std::filesystem::exists(golden_folder() / from_utf8(relative));
}

}  // namespace lathe::testing
