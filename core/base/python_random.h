#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace lathe {

// Python's `random.Random`: MT19937 seeded with an integer, and the draws that the reference makes from it, bit for bit
// (CPython 3.10-3.12).
class PythonRandom {
 public:
  explicit PythonRandom(std::uint64_t seed_value = 0) { seed(seed_value); }

  void seed(std::uint64_t value);
  std::uint32_t bits32();
  std::uint64_t getrandbits(int count);                       // 1..64
  double random();                                            // [0, 1)
  std::uint64_t below(std::uint64_t limit);                   // [0, limit)
  std::int64_t randint(std::int64_t low, std::int64_t high);  // both ends included
  double uniform(double low, double high);

  template <class T>
  void shuffle(std::vector<T>& items) {
    for (std::size_t i = items.size(); i-- > 1;) std::swap(items[i], items[below(i + 1)]);
  }

  // 624 words and the position, for checkpoints.
  struct State {
    std::array<std::uint32_t, 624> words{};
    std::uint32_t position = 624;
  };
  const State& state() const { return state_; }
  void set_state(const State& state) { state_ = state; }

 private:
  State state_;
};

}  // namespace lathe
