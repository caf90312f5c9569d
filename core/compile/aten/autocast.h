#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

namespace lathe::aten {

// Autocast on this thread, on the CPU and on cards.
struct AutocastMode {
  bool cpu = false, cuda = false, cache = true;
  at::ScalarType cpu_dtype = at::kBFloat16, cuda_dtype = at::kHalf;
  bool operator==(const AutocastMode&) const = default;

  static AutocastMode now();
  AutocastMode off() const;  // the same, both off
};

// Autocast as `mode` says while it lives.
class AutocastScope {
 public:
  explicit AutocastScope(const AutocastMode& mode);
  ~AutocastScope();
  AutocastScope(const AutocastScope&) = delete;
  AutocastScope& operator=(const AutocastScope&) = delete;

 private:
  AutocastMode before_;
};

}  // namespace lathe::aten
