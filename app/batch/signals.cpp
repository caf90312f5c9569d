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
#ifndef _WIN32
  std::signal(SIGHUP, on_signal);  // the terminal went away
  std::signal(SIGPIPE, SIG_IGN);   // whoever read our output went away: the run goes on
#endif
}

StopOnSignal::~StopOnSignal() {
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
#ifndef _WIN32
  std::signal(SIGHUP, SIG_DFL);
#endif
  control_of_signals = nullptr;
}

}  // namespace lathe::batch
