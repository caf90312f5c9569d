#include "core/dataset/regularisation.h"

namespace lathe::dataset {

std::vector<std::int64_t> regularisation_repeats(std::int64_t training_items,
                                                 const std::vector<std::int64_t>& repeats) {
  std::vector<std::int64_t> used(repeats.size(), 0);
  std::int64_t items = 0;
  for (std::size_t i = 0; i < repeats.size() && items < training_items; ++i) {
    used[i] = repeats[i];
    items += repeats[i];
  }
  for (std::size_t i = 0; !repeats.empty() && items < training_items; i = (i + 1) % repeats.size()) {
    ++used[i];
    ++items;
  }
  return used;
}

}  // namespace lathe::dataset
