#include "app/batch/signals.h"

#include <atomic>
#include <csignal>
#include <cstdlib>

#include "app/batch/batch.h"

namespace lathe::batch {

namespace {

std::atomic<run::Control*> control_of_signals = nullptr;
static_assert(std::atomic<run::Control*>::is_always_lock_free, "read in a signal handler");

extern "C" void on_signal(int number) {
  run::Control* control = control_of_signals;
  if (control == nullptr || (number == SIGINT && control->stop_requested())) std::_Exit(kStopped);
  control->stop();
  std::signal(number, on_signal);  // some systems reset it
}

}  // namespace

StopOnSignal::StopOnSignal(run::Control& control) {
  control_of_signals = &control;
  std::signal(SIGINT, on_signal);
  std::signal(SIGTERM, on_signal);
}

StopOnSignal::~StopOnSignal() {
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
  control_of_signals = nullptr;
}

}  // namespace lathe::batch
