#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/shared_object.h"
#include "core/compile/toolchain/kernel_cache.h"

namespace lathe::toolchain {

// The C++ compiler of this machine, for generated CPU kernels.
struct HostCompiler {
  std::filesystem::path path;
  std::string identity;            // what it says of its version: part of every key
  std::vector<std::string> flags;  // with the processor's features written out instead of "native"
};

// $LATHE_CXX, $CXX, then c++, clang++, g++ (cl.exe on Windows) of PATH. Nothing where none of them runs; `why` then
// says what was tried. Asked once a process.
std::optional<HostCompiler> find_host_compiler(std::string* why = nullptr);

struct BuiltKernels {
  SharedObject library;
  bool from_cache = false;
  double seconds = 0.0;  // of the compiler; 0 from the cache
};

// Builds generated C++ (it includes nothing) into a shared library and loads it. One source may hold many kernels.
// Error(format) with the compiler's first lines where the source does not build; Error(resource) past
// `timeout_seconds`.
BuiltKernels build_on_host(const std::string& source, const HostCompiler& compiler, KernelCache& cache,
                           double timeout_seconds = 120.0);

}  // namespace lathe::toolchain
