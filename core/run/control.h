#pragma once

#include <atomic>
#include <chrono>
#include <thread>

#include "core/base/error.h"

namespace lathe::run {

// Requests from outside. Any thread sets them; the run reads them between two steps (and between two files while
// caching). Async-signal-safe to set.
class Control {
 public:
  void stop() { stop_ = true; }
  void pause() { pause_ = true; }
  void resume() { pause_ = false; }
  void save_now() { save_ = true; }
  void sample_now() { sample_ = true; }

  bool stop_requested() const { return stop_; }
  bool pause_requested() const { return pause_; }
  bool take_save_request() { return save_.exchange(false); }
  bool take_sample_request() { return sample_.exchange(false); }

  // For work before the first step: throws Error(stopped) once a stop was asked for.
  void check() const {
    if (stop_) throw Error(ErrorKind::stopped, "stopped on request");
  }
  // Sleeps while paused; returns at once when stopped.
  void wait_while_paused() const {
    while (pause_ && !stop_) std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }

 private:
  std::atomic<bool> stop_ = false, pause_ = false, save_ = false, sample_ = false;
};

}  // namespace lathe::run
