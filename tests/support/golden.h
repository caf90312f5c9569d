#pragma once

#include <filesystem>
#include <string>

namespace lathe::testing {

// tests/data at the root of the source tree.
std::filesystem::path data_folder();

// Numbers made by the references: $LATHE_GOLDEN_DIR, else tests/data/golden.
std::filesystem::path golden_folder();

// Whether golden_folder()/relative exists. A test skips with a message where it does not:
//   LATHE_NEEDS_GOLDEN("anima/dit_a.safetensors");
bool has_golden(const std::string& relative);

}  // namespace lathe::testing

#define LATHE_NEEDS_GOLDEN(relative)                                                  \
  do {                                                                                \
    if (!::lathe::testing::has_golden(relative)) {                                    \
      QSKIP(qPrintable(QStringLiteral("golden file %1 is not there").arg(relative))); \
    }                                                                                 \
  } while (false)
