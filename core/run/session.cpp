#include "core/run/session.h"

#include <exception>
#include <new>
#include <utility>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/base/format.h"
#include "core/run/recorder.h"

namespace lathe::run {

namespace {

constexpr TextId kFailed = LATHE_TEXT("run.failed", "{}");
constexpr TextId kNoMemory = LATHE_TEXT(
    "run.no_memory", "the machine's memory ran out; use a smaller batch, gradient_checkpointing or fewer workers");

}  // namespace

Session::Session(std::unique_ptr<Backend> backend, Job job, EventSink& events, Work work)
    : backend_(std::move(backend)), job_(std::move(job)), events_(events), work_(std::move(work)) {
  thread_ = std::thread([this] { run(); });
}

Session::~Session() {
  control_.stop();
  wait();
}

EndStatus Session::wait() {
  if (thread_.joinable()) thread_.join();
  return status_;
}

void Session::run() {
  Summary summary(events_);
  const auto fail = [&](Message message, std::string_view kind) {
    summary.post({unix_seconds(), RunFailed{std::move(message), std::string(kind), summary.last_checkpoint()}});
    return EndStatus::failed;
  };
  try {
    status_ = work_(*backend_, job_, summary, control_);
  } catch (const Error& error) {
    status_ = error.kind() == ErrorKind::stopped ? EndStatus::stopped
                                                 : fail(message(kFailed, error.what()), name(error.kind()));
  } catch (const std::bad_alloc&) {
    status_ = fail(message(kNoMemory), name(ErrorKind::resource));
  } catch (const std::exception& error) {  // LibTorch's own: its first line says what, the rest is a stack
    const std::string text = error.what();
    status_ = fail(message(kFailed, text.substr(0, text.find('\n'))), name(ErrorKind::internal));
  }
  summary.end(status_);
  finished_ = true;
}

}  // namespace lathe::run
