#pragma once

#include "core/run/control.h"

namespace lathe::batch {

// While it lives, Ctrl-C, SIGTERM and SIGHUP ask the run to stop: it finishes its step, saves and ends. A second Ctrl-C ends
// the process at once. One at a time.
class StopOnSignal {
 public:
  explicit StopOnSignal(run::Control& control);
  ~StopOnSignal();
  StopOnSignal(const StopOnSignal&) = delete;
  StopOnSignal& operator=(const StopOnSignal&) = delete;
};

}  // namespace lathe::batch
