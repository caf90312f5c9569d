#include "core/dataset/validation_split.h"

#include <cmath>
#include <numeric>

namespace lathe::dataset {

Split validation_split(std::size_t count, double share, std::optional<std::int64_t> seed, PythonRandom& random) {
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (seed) {
    // Python seeds with the absolute value.
    PythonRandom own(static_cast<std::uint64_t>(*seed < 0 ? -*seed : *seed));
    own.shuffle(order);
  } else {
    random.shuffle(order);
  }

  const auto total = static_cast<double>(count);
  const auto training = static_cast<std::ptrdiff_t>(std::ceil(total * (1.0 - share)));
  const auto validation = static_cast<std::ptrdiff_t>(std::nearbyint(total * share));  // half to even
  return {{order.begin(), order.begin() + training}, {order.end() - validation, order.end()}};
}

}  // namespace lathe::dataset
