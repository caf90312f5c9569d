#pragma once

#include <cstdint>
#include <vector>

namespace lathe::train {

// The reference's loss/average: in the first epoch losses are gathered, later the one at the same place of the epoch is
// replaced; the average is over all that are held.
class LossAverage {
 public:
  // `epoch` from 0, `index`: micro-batch in the epoch, from 0.
  void add(std::int64_t epoch, std::int64_t index, double loss) {
    const auto place = static_cast<std::size_t>(index);
    if (epoch == 0 || place >= losses_.size()) {
      losses_.push_back(loss);
    } else {
      sum_ -= losses_[place];
      losses_[place] = loss;
    }
    sum_ += loss;
  }
  double average() const { return losses_.empty() ? 0.0 : sum_ / static_cast<double>(losses_.size()); }

 private:
  std::vector<double> losses_;
  double sum_ = 0.0;
};

}  // namespace lathe::train
