#pragma once

#include <cstdint>
#include <optional>

#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>

namespace lathe::train {

// The states of torch's default generators on the CPU and, where `device` is a card, on it. No transfer from the card.
struct RandomState {
  at::Tensor cpu;
  at::Tensor device_state;
  std::optional<at::Device> device;
};
RandomState random_state(at::Device device);
void set_random_state(const RandomState& state);

// Puts the generators back, at its end, to where they were when it was made.
class RandomStateKeeper {
 public:
  explicit RandomStateKeeper(at::Device device) : state_(random_state(device)) {}
  ~RandomStateKeeper() { set_random_state(state_); }
  RandomStateKeeper(const RandomStateKeeper&) = delete;
  RandomStateKeeper& operator=(const RandomStateKeeper&) = delete;

 private:
  RandomState state_;
};

// torch.manual_seed: the CPU's generator and every card's.
void seed_everything(std::uint64_t seed);

}  // namespace lathe::train
