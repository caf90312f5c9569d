#pragma once

#include <cstdint>
#include <vector>

#include "core/base/python_random.h"
#include "core/dataset/manifest.h"

namespace lathe::dataset {

// One batch: images of one bucket. Items are indices into Dataset::images; one may occur twice.
struct Batch {
  std::size_t dataset = 0;
  std::size_t bucket = 0;
  std::vector<std::size_t> items;
  bool operator==(const Batch&) const = default;
};

// The batches of every dataset and their order, epoch by epoch, as the reference shuffles them: at each epoch the
// generator is seeded with seed + epoch, then the batch list and the items of every bucket are shuffled in place, so
// epoch e depends on all before it. The order across datasets (torch's DataLoader permutation) is applied by the
// caller.
class BatchOrder {
 public:
  // `seed`: drawn once by the caller, random.randint(0, 2^31), after all datasets are built. The first shuffle (epoch
  // 0) uses seed 0, as the reference does.
  BatchOrder(const std::vector<Dataset>& datasets, std::int64_t seed);

  // Epochs count from 1 and only go forward.
  void advance_to(std::int64_t epoch);
  std::int64_t epoch() const { return epoch_; }
  // All batches of all datasets, one dataset after the other, in their present order.
  std::vector<Batch> batches() const;
  // The generator as the last shuffle left it: the reference's augmentation draws continue from it.
  const PythonRandom& random() const { return random_; }

 private:
  void shuffle(std::int64_t seed);

  struct Entry {
    std::size_t bucket, index;
  };
  struct PerDataset {
    std::int64_t batch_size;
    BucketRemainder remainder;
    std::vector<Entry> entries;
    std::vector<std::vector<std::size_t>> items;  // by bucket
  };
  std::vector<PerDataset> datasets_;
  std::int64_t seed_;
  std::int64_t epoch_ = 0;
  PythonRandom random_;
};

}  // namespace lathe::dataset
