#include "core/compile/capture/fallback.h"

#include <atomic>

#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/library.h>

#include "core/base/format.h"
#include "core/compile/aten/replay.h"

namespace lathe::capture {

namespace {

constexpr c10::DispatchKey kKey = c10::DispatchKey::Fake;

// Not thread_local: a backward runs on threads of autograd's own, which inherit the dispatch keys alone.
std::atomic<Recorder*> current = nullptr;

void fall_back(const c10::OperatorHandle& op, c10::DispatchKeySet, torch::jit::Stack* stack) {
  const c10::impl::ExcludeDispatchKeyGuard once(kKey);  // what the call does inside is its own business
  const aten::BelowAutograd below;
  if (Recorder* recorder = current.load(std::memory_order_acquire)) {
    recorder->record(op, *stack);
  } else {
    op.callBoxed(stack);
  }
}

std::optional<std::string> register_fallback() {
  c10::Dispatcher& dispatcher = c10::Dispatcher::singleton();
  if (dispatcher.hasBackendFallbackForDispatchKey(kKey))
    return "this LibTorch already uses the dispatch key on which blocks are recorded (Fake)";
  for (const c10::OperatorName& name : dispatcher.getAllOpNames()) {
    const auto op = dispatcher.findOp(name);
    if (op && op->hasKernelForDispatchKey(kKey))
      return format("this LibTorch has kernels of its own ({}) on the dispatch key on which blocks are recorded (Fake)",
                    name.name);
  }
  // Never taken back: the dispatcher is gone before statics of ours are.
  static auto* library = new torch::Library(torch::Library::IMPL, "_", kKey, __FILE__, __LINE__);
  library->fallback(torch::CppFunction::makeFromBoxedFunction<&fall_back>());
  return std::nullopt;
}

}  // namespace

std::optional<std::string> why_unavailable() {
  static const std::optional<std::string> reason = register_fallback();
  return reason;
}

bool recording() {
  return c10::impl::tls_is_dispatch_key_included(kKey);
}

RecordScope::RecordScope(Recorder& recorder) {
  current.store(&recorder, std::memory_order_release);
}

RecordScope::~RecordScope() {
  current.store(nullptr, std::memory_order_release);
}

}  // namespace lathe::capture
