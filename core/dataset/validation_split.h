#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/python_random.h"

namespace lathe::dataset {

struct Split {
  std::vector<std::size_t> training, validation;  // indices 0 … count−1 in shuffled order
};

// Shuffles 0 … count−1 and cuts: the first ceil(count·(1 − share)) train, the last round(count·share) (half to even)
// validate, as in the reference; the two may share one item (6 items, share 0.25: 5 and 2). With `seed` a generator of
// its own is used; without one `random` is drawn from, once for both sides. (The reference shuffles twice there, so
// that its two sides overlap.) `share` lies in (0, 1].
Split validation_split(std::size_t count, double share, std::optional<std::int64_t> seed, PythonRandom& random);

}  // namespace lathe::dataset
