#pragma once

#include <string>
#include <vector>

#include "core/run/backend.h"

namespace lathe::batch {

// Exit codes of lathe-batch.
enum ExitCode { kDone = 0, kInvalidSettings = 2, kFailed = 3, kIncomplete = 4, kStopped = 130 };

// The batch program without its main(): the words after the program's name, and the engine to run them with.
int run_batch(const std::vector<std::string>& words, run::MakeBackend make_backend);

}  // namespace lathe::batch
