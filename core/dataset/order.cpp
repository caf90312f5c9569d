#include "core/dataset/order.h"

#include <algorithm>

namespace lathe::dataset {

std::size_t batches_of(std::size_t items, std::int64_t batch_size, BucketRemainder remainder) {
  const auto size = static_cast<std::size_t>(std::max<std::int64_t>(batch_size, 1));
  return remainder == BucketRemainder::drop ? items / size : (items + size - 1) / size;
}

BatchOrder::BatchOrder(const std::vector<Dataset>& datasets, std::int64_t seed) : seed_(seed) {
  for (const Dataset& dataset : datasets) {
    PerDataset& mine = datasets_.emplace_back();
    mine.batch_size = std::max<std::int64_t>(dataset.config.batch_size, 1);
    mine.remainder = dataset.remainder;
    for (std::size_t bucket = 0; bucket < dataset.buckets.size(); ++bucket) {
      const std::vector<std::size_t>& items = dataset.buckets[bucket].items;
      mine.items.push_back(items);
      const std::size_t count = batches_of(items.size(), mine.batch_size, mine.remainder);
      for (std::size_t index = 0; index < count; ++index) mine.entries.push_back({bucket, index});
    }
  }
  shuffle(0);
}

void BatchOrder::advance_to(std::int64_t epoch) {
  while (epoch_ < epoch) shuffle(seed_ + ++epoch_);
}

void BatchOrder::shuffle(std::int64_t seed) {
  for (PerDataset& dataset : datasets_) {
    random_.seed(static_cast<std::uint64_t>(seed));
    random_.shuffle(dataset.entries);
    for (std::vector<std::size_t>& items : dataset.items) random_.shuffle(items);
  }
}

std::vector<Batch> BatchOrder::batches() const {
  std::vector<Batch> batches;
  for (std::size_t d = 0; d < datasets_.size(); ++d) {
    const PerDataset& dataset = datasets_[d];
    const auto size = static_cast<std::size_t>(dataset.batch_size);
    for (const Entry& entry : dataset.entries) {
      const std::vector<std::size_t>& items = dataset.items[entry.bucket];
      const std::size_t begin = entry.index * size;
      const std::size_t end =
          dataset.remainder == BucketRemainder::repeat ? begin + size : std::min(begin + size, items.size());
      Batch& batch = batches.emplace_back(Batch{d, entry.bucket, {}});
      for (std::size_t i = begin; i < end; ++i) batch.items.push_back(items[i % items.size()]);
    }
  }
  return batches;
}

}  // namespace lathe::dataset
