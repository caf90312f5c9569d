#include "core/compile/aten/autocast.h"

#include <ATen/autocast_mode.h>

namespace lathe::aten {

namespace {

void set(const AutocastMode& mode) {
  at::autocast::set_autocast_enabled(at::kCPU, mode.cpu);
  at::autocast::set_autocast_enabled(at::kCUDA, mode.cuda);
  at::autocast::set_autocast_dtype(at::kCPU, mode.cpu_dtype);
  at::autocast::set_autocast_dtype(at::kCUDA, mode.cuda_dtype);
  at::autocast::set_autocast_cache_enabled(mode.cache);
}

}  // namespace

AutocastMode AutocastMode::now() {
  return {.cpu = at::autocast::is_autocast_enabled(at::kCPU),
          .cuda = at::autocast::is_autocast_enabled(at::kCUDA),
          .cache = at::autocast::is_autocast_cache_enabled(),
          .cpu_dtype = at::autocast::get_autocast_dtype(at::kCPU),
          .cuda_dtype = at::autocast::get_autocast_dtype(at::kCUDA)};
}

AutocastMode AutocastMode::off() const {
  AutocastMode mode = *this;
  mode.cpu = mode.cuda = false;
  return mode;
}

AutocastScope::AutocastScope(const AutocastMode& mode) : before_(AutocastMode::now()) {
  set(mode);
}

AutocastScope::~AutocastScope() {
  set(before_);
}

}  // namespace lathe::aten
