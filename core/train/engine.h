#pragma once

#include <memory>

#include "core/run/backend.h"

namespace lathe::train {

// The engine of the programs: training, caching and sampling with LibTorch.
std::unique_ptr<run::Backend> make_engine();

}  // namespace lathe::train
