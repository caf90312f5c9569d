#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

namespace lathe::capture {

// Puts the generators of the CPU and of the tensors' devices back, at its end, to where they were when it was made.
class RandomKeeper {
 public:
  explicit RandomKeeper(std::span<const at::Tensor> tensors);
  ~RandomKeeper();
  RandomKeeper(const RandomKeeper&) = delete;
  RandomKeeper& operator=(const RandomKeeper&) = delete;

  struct State {
    at::Device device;
    at::Tensor state;
  };
  const std::vector<State>& states() const { return states_; }

 private:
  std::vector<State> states_;
};

// Numbers the random draws of a recording by the generator's state before each. A draw that starts from the state of an
// earlier one repeats it (checkpointing inside a block sets the state back) and gets that one's number.
class Draws {
 public:
  explicit Draws(std::vector<RandomKeeper::State> start) : frontier_(std::move(start)) {}

  // The number of a draw on `device` that begins now. Refused where the generator was set to a state that is
  // neither.
  std::int32_t begin(at::Device device);
  void end(at::Device device);
  std::int32_t count() const { return static_cast<std::int32_t>(before_.size()); }

 private:
  using State = RandomKeeper::State;
  std::vector<State> before_;    // by number
  std::vector<State> frontier_;  // of each device: where its next new draw begins
  bool is_new_ = false;
};

}  // namespace lathe::capture
