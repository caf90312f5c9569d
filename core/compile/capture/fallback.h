#pragma once

#include <optional>
#include <string>

#include <c10/core/impl/LocalDispatchKeySet.h>

#include "core/compile/capture/recorder.h"

namespace lathe::capture {

// Why ATen's calls cannot be recorded in this process, or nothing. The first call registers the fallback on a dispatch
// key below autograd and autocast that this LibTorch must not use itself.
std::optional<std::string> why_unavailable();

// Whether this thread's calls are being recorded.
bool recording();

// Sends the ATen calls of this thread, and of the threads that autograd carries its state to, to `recorder` while it
// lives. One at a time in a process; why_unavailable() must have said nothing.
class RecordScope {
 public:
  explicit RecordScope(Recorder& recorder);
  ~RecordScope();
  RecordScope(const RecordScope&) = delete;
  RecordScope& operator=(const RecordScope&) = delete;

 private:
  c10::impl::IncludeDispatchKeyGuard include_{c10::DispatchKey::Fake};
};

}  // namespace lathe::capture
