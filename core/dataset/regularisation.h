#pragma once

#include <cstdint>
#include <vector>

namespace lathe::dataset {

// How often each regularisation image is used so that they match `training_items` (Σ images × repeats), as in the
// reference: images are taken in order, each with its own repeats, until there are enough; where they run out, each in
// turn gets one repeat more. 0: not used.
std::vector<std::int64_t> regularisation_repeats(std::int64_t training_items, const std::vector<std::int64_t>& repeats);

}  // namespace lathe::dataset
