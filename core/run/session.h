#pragma once

#include <functional>
#include <memory>
#include <thread>

#include "core/run/backend.h"

namespace lathe::run {

// What the run's thread does: one of the Backend's functions.
using Work = std::function<EndStatus(Backend&, const Job&, EventSink&, Control&)>;

// Owns the thread of one run. The destructor asks it to stop and joins. `events` must outlive it. Whatever the backend
// throws is turned into RunFailed; RunEnded is always the last event.
class Session {
 public:
  Session(std::unique_ptr<Backend> backend, Job job, EventSink& events, Work work);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  Control& control() { return control_; }
  bool finished() const { return finished_; }
  EndStatus wait();  // joins

 private:
  void run();

  std::unique_ptr<Backend> backend_;
  Job job_;
  EventSink& events_;
  Work work_;
  Control control_;
  EndStatus status_ = EndStatus::failed;  // written by the thread, read after the join
  std::atomic<bool> finished_ = false;
  std::thread thread_;
};

}  // namespace lathe::run
