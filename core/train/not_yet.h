#pragma once

#include <variant>

#include "core/base/message.h"

namespace lathe::train {

// What the reference can do and this program cannot yet: an answer, not an error. The caller refuses the run with it.
struct NotYet {
  Message reason;
};

template <class T>
using OrNotYet = std::variant<T, NotYet>;

}  // namespace lathe::train
