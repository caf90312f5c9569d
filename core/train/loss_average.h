#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace lathe::train {

// The reference's loss/average: in the first epoch losses are gathered, later the one at the same place of the epoch is
// replaced; the average is over all that are held. Places whose loss was not finite hold none.
class LossAverage {
 public:
  // `index`: micro-batch in the epoch, from 0.
  void add(std::int64_t index, double loss) {
    const auto place = static_cast<std::size_t>(index);
    if (place >= losses_.size()) losses_.resize(place + 1);
    if (losses_[place]) {
      sum_ -= *losses_[place];
    } else {
      ++count_;
    }
    losses_[place] = loss;
    sum_ += loss;
  }
  double average() const { return count_ == 0 ? 0.0 : sum_ / static_cast<double>(count_); }

 private:
  std::vector<std::optional<double>> losses_;
  std::int64_t count_ = 0;
  double sum_ = 0.0;
};

}  // namespace lathe::train
